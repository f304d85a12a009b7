/* The C interface in one page: values in, a product with its ReLU as one kernel, values out, a gradient, and an error.
 */
#include <baretile/capi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(bt_status status) {
  if (status == BT_OK) return;
  fprintf(stderr, "%s: %s\n", bt_status_name(status), bt_message());
  exit(1);
}

static bt_tensor* apply(const char* name, const bt_tensor* x, const bt_tensor* y) {
  const bt_tensor* operands[] = {x, y};
  bt_tensor* result = NULL;
  check(bt_apply(bt_op_by_name(name), operands, y ? 2 : 1, NULL, 0, &result));
  return result;
}

static bt_tensor* matrix(bt_runtime* runtime, const float* values, int64_t rows, int64_t cols) {
  const int64_t shape[] = {rows, cols};
  bt_tensor* result = NULL;
  check(bt_from_host(runtime, values, BT_FP32, shape, 2, BT_FP32, &result));
  return result;
}

int main(void) {
  bt_runtime* runtime = NULL;
  check(bt_open(NULL, &runtime));
  bt_tensor* x = matrix(runtime, (const float[]){1, -2, 3, 4}, 2, 2);
  bt_tensor* w = matrix(runtime, (const float[]){2, 0, 0, 3}, 2, 2);
  bt_close(runtime); /* the tensors keep the device open */

  bt_tensor* product = apply("matmul", x, w);
  bt_tensor* positive = apply("relu", product, NULL);
  bt_tensor* loss = apply("sum", positive, NULL);
  bt_tensor* slope = NULL;
  check(bt_grad(loss, (const bt_tensor* const[]){w}, 1, &slope));

  float values[4];
  check(bt_to_host(positive, values, sizeof values));
  printf("relu(x w) = %g %g %g %g\n", values[0], values[1], values[2], values[3]);
  const char* text = NULL;
  check(bt_text(slope, &text));
  printf("d sum / d w = %s\n", text);

  const bt_tensor* wrong[] = {x, loss};
  const bt_status status = bt_apply(bt_op_by_name("matmul"), wrong, 2, NULL, 0, &slope);
  printf("%s: %s\n", bt_status_name(status), bt_message());

  bt_tensor* all[] = {x, w, product, positive, loss, slope};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) bt_free(all[i]);
  return 0;
}
