#!/usr/bin/env python3
"""Expected values for tests/models, made without any of baretile's own code.

  golden.py logits OUT.safetensors [--model FILE.gguf] [--layers N] [--full]
      Teacher-forced logits of SmolLM2-135M-Instruct for the chat prompt "What is the capital of France?": logits[k]
      predicts answer id k. Matrices and the embedding are rounded to bf16 as the device stores them (--full: not
      rounded), norm weights stay fp32, and the arithmetic is float64, so that machines agree to about an fp32 bit.
  golden.py vectors OUT.json [--model FILE.gguf]
      Rewrites tests/models/vectors.json: tokenizer, decoder, chat template, dequantisation, sampler and logit samples.

Needs a venv with: pip install numpy gguf==0.19.0 tokenizers jinja2. Without --model, the file of tools/get-model.
"""

import argparse
import codecs
import json
import os
import random
import struct
import sys

import gguf
import jinja2
import numpy as np
import tokenizers

QUESTION = "What is the capital of France?"
ANSWER = [504, 3575, 282, 4649, 314, 7042, 30]


def default_model():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "baretile", "models", "smollm2-135m-instruct.gguf")


class Model:
    """The GGUF file as PyPI's gguf package reads it."""

    def __init__(self, path):
        self.reader = gguf.GGUFReader(path)
        self.tensors = {t.name: t for t in self.reader.tensors}

    def meta(self, key):
        return self.reader.fields[key].contents()

    def weight(self, name):
        tensor = self.tensors[name]
        return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)


class TinyModel:
    """Two layers; a weight is a hash of its tensor's place by name and its index, as in the C++ test."""

    SIZES = {
        "block_count": 2, "embedding_length": 32, "feed_forward_length": 48, "attention.head_count": 4,
        "attention.head_count_kv": 2, "context_length": 64,
    }
    VOCAB = 40

    def __init__(self):
        width, ffn, kv = 32, 48, 16
        layer = {
            "attn_norm": [width], "ffn_norm": [width], "attn_q": [width, width], "attn_k": [kv, width],
            "attn_v": [kv, width], "attn_output": [width, width], "ffn_gate": [ffn, width], "ffn_up": [ffn, width],
            "ffn_down": [width, ffn],
        }
        self.tensors = {f"blk.{i}.{part}.weight": shape for i in range(2) for part, shape in layer.items()}
        self.tensors |= {
            "token_embd.weight": [self.VOCAB, width],
            "output.weight": [self.VOCAB, width],
            "output_norm.weight": [width],
        }

    def meta(self, key):
        real = {"llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 10000.0}
        return real[key] if key in real else self.SIZES[key.removeprefix("llama.")]

    def weight(self, name):
        x = np.arange(np.prod(self.tensors[name]), dtype=np.uint32) * np.uint32(2654435761)
        x += np.uint32(sorted(self.tensors).index(name) * 40503)
        x = (x ^ (x >> 15)) * np.uint32(2246822519)
        x ^= x >> 13
        return ((x >> 8) * np.float32(2**-24) - np.float32(0.5)).astype(np.float32).reshape(self.tensors[name])


def round_to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def hf_tokenizer(tokens, merges, special, pre="smollm"):
    pairs = [tuple(m.split(" ")) for m in merges]
    return dress(tokenizers.Tokenizer(tokenizers.models.BPE({t: i for i, t in enumerate(tokens)}, pairs)), special, pre)


def dress(tokenizer, special, pre="smollm"):
    """GPT-2's byte level; SmolLM cuts single digits out before."""
    kinds = tokenizers.pre_tokenizers
    byte_level, digits = kinds.ByteLevel(add_prefix_space=False), kinds.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = kinds.Sequence([digits, byte_level]) if pre == "smollm" else byte_level
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(special)
    return tokenizer


def model_tokenizer(model):
    tokens, kinds = model.meta("tokenizer.ggml.tokens"), model.meta("tokenizer.ggml.token_type")
    special = [t for t, kind in zip(tokens, kinds) if kind in (gguf.TokenType.CONTROL, gguf.TokenType.USER_DEFINED)]
    return hf_tokenizer(tokens, model.meta("tokenizer.ggml.merges"), special)


def render_chat(model, messages, add_generation_prompt):
    template = jinja2.Environment().from_string(model.meta("tokenizer.chat_template"))
    return template.render(messages=messages, add_generation_prompt=add_generation_prompt)


def prompt_ids(model):
    text = render_chat(model, [{"role": "user", "content": QUESTION}], True)
    return model_tokenizer(model).encode(text).ids


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def rotate(x, theta):
    """Rotary embedding on HF's order (first half with second half); x is [tokens, heads, head_dim]."""
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[0])[:, None] * theta ** (-np.arange(half) / half)[None, :]
    cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attention(q, k, v):
    tokens, heads, dim = q.shape
    k, v = (np.repeat(x, heads // x.shape[1], axis=1) for x in (k, v))
    score = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(dim)
    score = np.where(np.arange(tokens)[None, :, None] >= np.arange(tokens)[None, None, :], score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", weight / weight.sum(axis=-1, keepdims=True), v).reshape(tokens, -1)


def forward(model, ids, layers, stored):
    """Logits of every position of `ids` in one causal pass; `stored` is what becomes of a matrix on the device."""
    heads, kv_heads = model.meta("llama.attention.head_count"), model.meta("llama.attention.head_count_kv")
    eps, theta = model.meta("llama.attention.layer_norm_rms_epsilon"), model.meta("llama.rope.freq_base")
    matrix = lambda name: stored(model.weight(name)).astype(np.float64)
    norm = lambda x, name: rms_norm(x, model.weight(name).astype(np.float64), eps)

    def rotary(name, count):  # llama.cpp interleaves the two halves of each head's rows
        w = matrix(name)
        return w.reshape(count, w.shape[0] // count // 2, 2, -1).swapaxes(1, 2).reshape(w.shape)

    embedding = matrix("token_embd.weight")
    x = embedding[ids]
    for layer in range(layers):
        at = f"blk.{layer}."
        h = norm(x, at + "attn_norm.weight")
        q = (h @ rotary(at + "attn_q.weight", heads).T).reshape(len(ids), heads, -1)
        k = (h @ rotary(at + "attn_k.weight", kv_heads).T).reshape(len(ids), kv_heads, -1)
        v = (h @ matrix(at + "attn_v.weight").T).reshape(len(ids), kv_heads, -1)
        x = x + attention(rotate(q, theta), rotate(k, theta), v) @ matrix(at + "attn_output.weight").T
        h = norm(x, at + "ffn_norm.weight")
        gate = h @ matrix(at + "ffn_gate.weight").T
        gated = gate / (1 + np.exp(-gate)) * (h @ matrix(at + "ffn_up.weight").T)
        x = x + gated @ matrix(at + "ffn_down.weight").T
    return (
        norm(x, "output_norm.weight") @ (matrix("output.weight") if "output.weight" in model.tensors else embedding).T
    )


def golden_logits(model, prompt, layers, stored=round_to_bf16):
    return forward(model, prompt + ANSWER[:-1], layers, stored)[len(prompt) - 1 :].astype(np.float32)


def write_safetensors(path, logits, facts):
    header = json.dumps(
        {
            "__metadata__": facts,
            "logits": {"dtype": "F32", "shape": list(logits.shape), "data_offsets": [0, logits.nbytes]},
        }
    )
    header += " " * (-len(header) % 8)
    with open(path + ".part", "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header.encode() + logits.astype("<f4").tobytes())
    os.replace(path + ".part", path)


def choices(logits):
    best = np.argsort(-logits, axis=-1, kind="stable")[:, :2]
    return [(int(a), int(b), float(row[a] - row[b])) for row, (a, b) in zip(logits, best)]


def command_logits(model, args):
    most = model.meta("llama.block_count")
    layers = most if args.layers is None else args.layers
    if not 1 <= layers <= most:
        sys.exit(f"golden.py: --layers {layers} is not 1 to {most}")
    prompt, tokenizer = prompt_ids(model), model_tokenizer(model)
    logits = golden_logits(model, prompt, layers, (lambda w: w) if args.full else round_to_bf16)
    write_safetensors(
        args.out,
        logits,
        {
            "answer_ids": " ".join(map(str, ANSWER)), "layers": str(layers),
            "prompt_ids": " ".join(map(str, prompt)), "question": QUESTION,
        },
    )
    print(f"{len(prompt)} prompt ids: {' '.join(map(str, prompt))}")
    for step, (first, second, margin) in enumerate(choices(logits)):
        print(
            f"step {step}: {first} {tokenizer.decode([first])!r} beats {second} {tokenizer.decode([second])!r}"
            f" by {margin:.4f} of {logits[step, first]:.4f}, answer id {ANSWER[step]}"
        )


TEXTS = [
    "", " ", "  ", "a", " a", "a ", "Hello, world!", "What is the capital of France?",
    "The capital of France is Paris.", "don't can't we'll I'm you've they'd it's DON'T 'sx", "1234567890",
    "3.14159 and 2x10^8", "a1b22c333", "x 1", "x  12 y", "10\n20\n\n30", "  leading", "trailing   ", "\n\n\n",
    "a\n  b\n\tc\r\nd", "tab\tand  spaces   end ", "for (int i = 0; i < 10; ++i) { sum += a[i]; }",
    "naïve café Ünïcödé ß", "Привет, мир!", "你好，世界。", "こんにちは世界", "안녕하세요", "مرحبا بالعالم", "नमस्ते दुनिया",
    "emoji 🙂👩‍👩‍👧 flags 🇫🇷", "½ ² ⅷ ٣ ৪ numbers", "a\u00a0b\u2003c\u3000d", "a\u180eb", "a\u0085b",
    "zero\u200bwidth", "combining e\u0301 a\u0308", "snake_case __init__ CamelCase",
    "https://example.org/?q=1&r=a%20b#x", "<|im_start|>user\nhi<|im_end|>\n", "a<|im_end|>b <|im_end|> c",
    "<|im_end", "<|im_start|><|im_start|>", "<|endoftext|> 1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "  \t \n  x", "!!!???...", "\"quoted\" 'single' “curly”", "C++20, g++-12: -Wall", "ﬁ ﬂ ligature Ⅻ",
]
CORPUS = [
    "The quick brown fox jumps over the lazy dog. The dog doesn't mind; it's asleep.",
    "A tile is a small matrix of 32 by 32 numbers, and a kernel moves tiles.",
    "In the beginning there was the chip, and the chip had cores, and the cores had memory.",
    "the theory of the thing is that the other then there these those",
    "for (int i = 0; i < 10; ++i) { sum += values[i]; }", "naïve café 你好 世界 Привет мир 🙂 🙂🙂",
]
CHATS = [
    [("user", "What is the capital of France?")], [("system", "Be brief."), ("user", "Hi")],
    [("user", "Hi"), ("assistant", "Hello!"), ("user", "Bye")], [("user", "")],
    [("user", "one"), ("system", "late"), ("user", "two\nlines")], [("system", ""), ("user", "x")], [],
]
BROKEN = [
    "e4bda0", "e4bd", "ff41", "f09f9982", "f09f99", "e2", "c0af", "eda080", "f4908080", "41e4bd42", "e4f09f9982",
    "80", "f0808080", "c3a9c3", "f09f41",
]


def token_vectors(tokenizer):
    return [
        {"text": t, "ids": e.ids, "decoded": tokenizer.decode(e.ids, skip_special_tokens=False)}
        for t in TEXTS
        for e in [tokenizer.encode(t)]
    ]


def tiny_tokenizer():
    tokenizer = dress(tokenizers.Tokenizer(tokenizers.models.BPE()), [])
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=380,
        special_tokens=special,
        show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    made = {pre: token_vectors(hf_tokenizer(tokens, merges, special, pre)) for pre in ("smollm", "gpt-2")}
    return {"tokens": tokens, "merges": merges, "special": special, "texts": made}


def stream_vectors():
    """UTF-8 as Python decodes it with errors="replace", whole and arriving byte by byte."""
    made = []
    for text in BROKEN:
        decoder, data = codecs.getincrementaldecoder("utf-8")("replace"), bytes.fromhex(text)
        pieces = [decoder.decode(data[i : i + 1]) for i in range(len(data))] + [decoder.decode(b"", True)]
        if data[0] == 0xED:  # CPython holds a surrogate's second byte back, which WHATWG's decoder refuses at once
            pieces = None
        made.append({"bytes": text, "whole": data.decode("utf-8", "replace"), "pieces": pieces})
    return made


def quant_vectors():
    """Random blocks as the gguf package dequantises them, the floats as hexadecimal fp32 words."""
    rng, made = random.Random(7), {}
    for name, size, halves in (("Q8_0", 34, 1), ("Q4_0", 18, 1), ("Q4_1", 20, 2)):
        raw = bytearray()
        for _ in range(6):
            scales = np.array([rng.uniform(-2, 2) * 10 ** rng.randint(-6, 2) for _ in range(halves)], np.float16)
            raw += scales.tobytes() + bytes(rng.randrange(256) for _ in range(size - 2 * halves))
        values = gguf.quants.dequantize(np.frombuffer(raw, np.uint8), gguf.GGMLQuantizationType[name])
        made[name] = {"bytes": raw.hex(), "floats": [f"{w:08x}" for w in values.astype(np.float32).view(np.uint32)]}
    return made


def rounding_vectors():
    words = [
        0, 0x80000000, 0x3F800000, 0x3F808000, 0x3F808001, 0x3F818000, 0x3F817FFF, 0x7F7FFFFF, 0x7F800000,
        0xFF800000, 1, 0x007FFFFF, 0x0000C000,
    ]
    rng = random.Random(11)
    words += [rng.randrange(0x7F800000) | rng.randrange(2) << 31 for _ in range(64)]
    rounded = round_to_bf16(np.array(words, np.uint32).view(np.float32)).view(np.uint32) >> 16
    return [[int(a), int(b)] for a, b in zip(words, rounded)]


def sampler_vectors():
    """NumPy's RandomState is mt19937 with 53-bit draws, looked up in the cumulative softmax."""
    rng, made = np.random.RandomState(5), []
    for temperature, seed in ((0.7, 1), (1.0, 42), (1.5, 2**32 - 1)):
        logits = (rng.standard_normal(50) * 3).astype(np.float32)
        scaled = (logits.astype(np.float64) - logits.max()) / temperature
        total = np.cumsum(np.exp(scaled))
        draws = np.random.RandomState(seed).random_sample(40) * total[-1]
        made.append(
            {
                "temperature": temperature, "seed": seed, "logits": logits.tolist(),
                "picks": np.searchsorted(total, draws, side="right").tolist(),
            }
        )
    return made


def logit_samples(model, prompt):
    """Every 3072nd logit of each step, and its two best, for a check that needs no golden file."""
    made = []
    for layers in (1, model.meta("llama.block_count")):
        logits = golden_logits(model, prompt, layers)
        made.append({"layers": layers, "every": 3072, "logits": logits[:, ::3072].tolist(), "choices": choices(logits)})
    return made


def tiny_llama():
    model, ids = TinyModel(), [3, 17, 39, 0, 17, 8, 22]
    logits = forward(model, ids, 2, round_to_bf16).astype(np.float32)
    return {"shapes": model.tensors, "sizes": model.SIZES, "ids": ids, "logits": logits.tolist()}


def command_vectors(model, args):
    tokenizer = model_tokenizer(model)
    chats = [
        {"messages": m, "prompt": p, "text": render_chat(model, [{"role": r, "content": c} for r, c in m], p)}
        for m in CHATS
        for p in (False, True)
    ]
    prompt = prompt_ids(model)
    vectors = {
        "tiny": tiny_tokenizer(), "smollm2": token_vectors(tokenizer),
        "template": model.meta("tokenizer.chat_template"), "chats": chats, "stream": stream_vectors(),
        "quants": quant_vectors(), "bf16": rounding_vectors(), "sampler": sampler_vectors(),
        "tiny_llama": tiny_llama(), "prompt_ids": prompt, "answer_ids": ANSWER,
        "logits": logit_samples(model, prompt),
    }
    with open(args.out, "w") as out:
        lines = (
            f'"{key}": ' + json.dumps(value, ensure_ascii=True, separators=(",", ":")) for key, value in vectors.items()
        )
        out.write("{" + ",\n".join(lines) + "}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["logits", "vectors"])
    parser.add_argument("out")
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--layers", type=int)
    parser.add_argument("--full", action="store_true")
    args = parser.parse_args()
    if not os.path.exists(args.model):
        sys.exit(f"golden.py: {args.model} is missing; run tools/get-model or pass --model")
    {"logits": command_logits, "vectors": command_vectors}[args.command](Model(args.model), args)


if __name__ == "__main__":
    main()
