// Baretile from C, and from whatever calls C: opaque handles, a status from each call that can fail, nothing thrown.
//   bt_runtime* rt; bt_tensor *x, *y;
//   if (bt_open(NULL, &rt) || bt_from_host(rt, values, BT_FP32, (int64_t[]){2, 3}, 2, BT_FP32, &x) ||
//       bt_apply(bt_op_by_name("exp"), (const bt_tensor*[]){x}, 1, NULL, 0, &y) || bt_to_host(y, out, sizeof out))
//     fprintf(stderr, "%s\n", bt_message());
// Results come through the last pointer, which stays as it was when a call fails. Tensors are lazy: values are computed
// when bt_to_host, bt_text or bt_realize asks for them. Any thread may call; calls take turns, and a message is its
// thread's. That a handle was freed before is not noticed.
#ifndef BARETILE_CAPI_H
#define BARETILE_CAPI_H
#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef struct bt_runtime bt_runtime;      // an open device
typedef struct bt_tensor bt_tensor;        // a value, or how to compute it
typedef struct bt_jit bt_jit;              // a traced function
typedef struct bt_optimiser bt_optimiser;  // what makes new parameters of gradients
typedef struct bt_op bt_op;                // an operation; lives as long as the library is loaded

// Who must act; one value for each class of baretile/error.h.
typedef int bt_status;
enum {
  BT_OK = 0,
  BT_USAGE_ERROR,    // the caller: a shape, dtype, name or number
  BT_UNSUPPORTED,    // nobody yet: valid, but not done here
  BT_SYSTEM_ERROR,   // the owner of the machine: a path, permission or missing program
  BT_DEVICE_ERROR,   // hardware or firmware
  BT_COMPILE_ERROR,  // baretile: generated code did not build
  BT_SIM_FAULT,      // the author of a kernel: a simulator stopped at something the hardware does not allow
  BT_OUT_OF_MEMORY,  // the device's memory, or the host's
  BT_INTERNAL_ERROR  // baretile: an invariant does not hold
};

// What this thread's last failing call complained about: what, its value, and what to do. Valid until the next one.
const char* bt_message(void);
const char* bt_status_name(bt_status status);  // "UsageError" and so on, as in C++
const char* bt_version(void);                  // "0.1.0"

// Of a tensor's elements; include/baretile/tensor.h says what each keeps of a value.
typedef int bt_dtype;
enum { BT_BOOLEAN, BT_UINT32, BT_INT32, BT_BFP4, BT_BFP8, BT_BF16, BT_FP32, BT_AS_STORED = -1 };  // the last: of files

// --- devices ---

// `device`: "sim", "ttsim", "kmd", "sysfs"; NULL takes $BARETILE_DEVICE, then the first that is there.
bt_status bt_open(const char* device, bt_runtime** runtime);
// The device stays open until the last of its tensors is freed too. NULL is allowed, here and in bt_free.
void bt_close(bt_runtime* runtime);
const char* bt_device(const bt_runtime* runtime);  // as bt_open takes it
uint32_t bt_workers(const bt_runtime* runtime);    // tiles that compute

// --- tensors ---

// Row-major values. BT_FP32 values (float) make a tensor of any float dtype; BT_BF16 (uint16_t bits), BT_INT32,
// BT_UINT32 and BT_BOOLEAN (one byte each, not 0 is true) make one of their own dtype.
bt_status bt_from_host(bt_runtime* runtime, const void* values, bt_dtype values_dtype, const int64_t* shape,
                       size_t rank, bt_dtype dtype, bt_tensor** result);
// All elements are `value`, which the dtype must hold.
bt_status bt_full(bt_runtime* runtime, const int64_t* shape, size_t rank, double value, bt_dtype dtype,
                  bt_tensor** result);
// first, first + step, … before end, as a tensor of one axis.
bt_status bt_arange(bt_runtime* runtime, double first, double end, double step, bt_dtype dtype, bt_tensor** result);
// One number of no device; it takes the dtype of what it meets.
bt_status bt_number(double value, bt_tensor** result);
// Random numbers as JAX draws them: a key, uint32 [2], and what comes from it. `distribution`: "uniform" and "normal"
// (fp32), "bits" (uint32), "randint" (int32 from low up to, not including, high; the others ignore both).
bt_status bt_random_key(bt_runtime* runtime, uint64_t seed, bt_tensor** result);
bt_status bt_random(const char* distribution, const bt_tensor* key, const int64_t* shape, size_t rank, int64_t low,
                    int64_t high, bt_tensor** result);
bt_status bt_copy(const bt_tensor* tensor, bt_tensor** result);  // another handle to the same value
bt_status bt_set(bt_tensor* tensor, const bt_tensor* value);     // `tensor` stands for `value` from now on
// Of this handle; what was computed from it stays.
void bt_free(bt_tensor* tensor);

size_t bt_rank(const bt_tensor* tensor);           // number of axes
const int64_t* bt_shape(const bt_tensor* tensor);  // bt_rank of them; valid while the tensor is
bt_dtype bt_dtype_of(const bt_tensor* tensor);     // of its elements

// All values, row-major: float for every float dtype, int32_t, uint32_t, and one byte of 0 or 1 for booleans. `bytes`
// is the size of `values` and must be theirs.
bt_status bt_to_host(const bt_tensor* tensor, void* values, size_t bytes);
bt_status bt_realize(const bt_tensor* const* tensors, size_t count);  // computes all of them as one program
// As NumPy prints it, shortened beyond 1,000 elements; valid until this thread's next bt_text.
bt_status bt_text(const bt_tensor* tensor, const char** text);

// --- operations ---

// Every operation on tensors, by name: the rows of ops.def, views, composites.
const bt_op* bt_op_by_name(const char* name);  // NULL when there is none
const bt_op* bt_op_at(size_t index);           // NULL behind the last; for listing them
// Name, tensors, then numbers, with defaults: "softmax(x; axis=-1)", "attention(query, key, value, mask?; causal=0,
// scale=0)", "reshape(x; extents...)". `?` may be NULL or left out at the end, `...` any count.
const char* bt_op_signature(const bt_op* op);
const char* bt_op_doc(const bt_op* op);  // what it computes, in one line
// `tensors` and `numbers` in the signature's order; numbers at its end may be left out where they have defaults.
bt_status bt_apply(const bt_op* op, const bt_tensor* const* tensors, size_t tensor_count, const double* numbers,
                   size_t number_count, bt_tensor** result);
// The precision of this thread's products that name none, BT_STANDARD at first, and if `before` is not NULL, what it
// was; include/baretile/tensor.h says what each keeps.
enum { BT_FAST, BT_STANDARD, BT_FULL };
bt_status bt_set_precision(int precision, int* before);
// Sums of products by NumPy's notation with an arrow, as "ij,jk->ik"; one or two tensors.
bt_status bt_einsum(const char* formula, const bt_tensor* const* tensors, size_t count, bt_tensor** result);
// The largest `count` of the last axis, the largest first, and where they stand.
bt_status bt_topk(const bt_tensor* tensor, int64_t count, bt_tensor** values, bt_tensor** indices);
// A box of `tensor` along one axis, from index `first` on, gets new values; tensors computed from the old ones keep
// those.
bt_status bt_assign(bt_tensor* tensor, int64_t axis, int64_t first, const bt_tensor* values);
// gradients[i]: what a change of wrt[i] means for the loss, which has one element. Ask before the loss is realized.
bt_status bt_grad(const bt_tensor* loss, const bt_tensor* const* wrt, size_t count, bt_tensor** gradients);

// --- functions that are traced once for each combination of shapes and dtypes, and then replayed as one submission ---

// Gives each of its results to bt_jit_result, and new values to state by bt_set or bt_assign. `inputs` are the call's.
// What is not BT_OK becomes bt_jit_call's status. It may not ask for values that depend on inputs or state.
typedef bt_status (*bt_function)(void* data, bt_jit* jit, const bt_tensor* const* inputs, size_t count);
// `state`: the tensors that the function gives new values; they and `data` must outlive the jit. All others are
// constants to it.
bt_status bt_jit_new(bt_function function, void* data, bt_tensor* const* state, size_t state_count, bt_jit** result);
bt_status bt_jit_result(bt_jit* jit, const bt_tensor* tensor);  // called by the function
// `*made` results, computed; there must be room for them.
bt_status bt_jit_call(bt_jit* jit, const bt_tensor* const* inputs, size_t count, bt_tensor** results, size_t room,
                      size_t* made);
// Its state stays as it is.
void bt_jit_free(bt_jit* jit);

// --- neural networks: layers and losses are operations; here is what changes their weights, as bt_set does ---

// First weights of linear layers one behind the other: for each i, parameters[2 i] is the weight [widths[i + 1],
// widths[i]] and parameters[2 i + 1] the bias [widths[i + 1]], for the operation `linear`; 2 (count - 1) in all.
// Uniform within 1 / sqrt(widths[i]), by the Mersenne Twister of a seed below 2^32.
bt_status bt_mlp(bt_runtime* runtime, const int64_t* widths, size_t count, uint64_t seed, bt_dtype dtype,
                 bt_tensor** parameters);
// The length of all gradients together; these are scaled, as bt_set does it, so that it is at most `largest`.
bt_status bt_clip_grad_norm(bt_tensor* const* gradients, size_t count, double largest, bt_tensor** length);

// `rule`: "SGD" (options rate, momentum, weight_decay), "Adam" or "AdamW" (rate, beta1, beta2, epsilon, weight_decay);
// options that are not named are PyTorch's.
bt_status bt_optimiser_new(const char* rule, const char* const* options, const double* values, size_t count,
                           bt_optimiser** result);
// From the next step on. Of `rate`, and AdamW's weight_decay; nothing is compiled for either.
bt_status bt_optimiser_set(bt_optimiser* optimiser, const char* option, double value);
// Computes `also` (a loss, say), the new parameters and the optimiser's own state as one program. There are as many
// gradients as parameters, and in each step the same parameters.
bt_status bt_optimiser_step(bt_optimiser* optimiser, bt_tensor* const* parameters, size_t count,
                            const bt_tensor* const* gradients, size_t gradient_count, const bt_tensor* const* also,
                            size_t also_count);
// Gets one tensor, which is its own to free; the name, "" of a .npy, is valid until it returns.
typedef void (*bt_named)(void* data, const char* name, bt_tensor* tensor);
// What the optimiser remembers, to be saved beside the parameters; nothing before the first step or trainer.
bt_status bt_optimiser_state(const bt_optimiser* optimiser, bt_named each, void* data);
// It goes on from there, with these parameters; BT_USAGE_ERROR, and nothing changed, if it is not of their kind.
bt_status bt_optimiser_restore(bt_optimiser* optimiser, bt_tensor* const* parameters, size_t count,
                               const char* const* names, const bt_tensor* const* tensors, size_t tensor_count);
// A trainer that was made with it keeps what it needs.
void bt_optimiser_free(bt_optimiser* optimiser);
// bt_jit_call of `*result` with a batch is a step: loss, gradients, clipping (bt_clip_grad_norm's `largest`, or 0) and
// update, as one submission. The function gives one result, the loss, of one element; so does bt_jit_call: before the
// update. Parameters and `data` must outlive the trainer, which bt_jit_free frees.
bt_status bt_trainer_new(bt_function loss, void* data, bt_tensor* const* parameters, size_t count,
                         bt_optimiser* optimiser, double clip, bt_jit** result);

// --- files, by their endings: .npy is one tensor without a name; .npz and .safetensors are tensors by name ---

// All tensors of a file, in the order of their names; to no one if one cannot be read. `as`: their dtype, or
// BT_AS_STORED; integers take only values that they hold. include/baretile/files.h says what is read.
bt_status bt_load(bt_runtime* runtime, const char* path, bt_dtype as, bt_named each, void* data);
// Written whole or not at all. `names`: of each tensor; NULL for a .npy.
bt_status bt_save(const char* path, const char* const* names, const bt_tensor* const* tensors, size_t count);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
