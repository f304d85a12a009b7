"""chip_ttsim_test.py BARETILE: `baretile chip ttsim` against a server on this machine that breaks off, and lies.

Where TTSIM is set, its library is what is downloaded, and `baretile hello` then runs on the download."""

import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
TTSIM = os.environ.get("TTSIM")
LIBRARY = Path(TTSIM).read_bytes() if TTSIM else bytes(range(256)) * 500


class Server(http.server.BaseHTTPRequestHandler):
    requests = []

    def do_GET(self):
        begin = int(self.headers["Range"][6:].rstrip("-")) if "Range" in self.headers else 0
        self.requests.append((self.path, begin))
        if self.path == "/missing":
            return self.send_error(404)
        data = LIBRARY if self.path != "/other" else LIBRARY[::-1]
        ranges = self.path != "/no-ranges"
        self.send_response(206 if begin and ranges else 200)
        self.send_header("Content-Length", str(len(data) - (begin if ranges else 0)))
        if begin and ranges:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        breaks_off = self.path == "/breaks" and begin == 0
        self.wfile.write(data[begin if ranges else 0 : 1000 if breaks_off else None])

    def log_message(self, *_):
        pass


class ChipTtsim(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.cache = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.cache)
        self.target = Path(self.cache, "ttsim", "libttsim_bh.so")
        Server.requests.clear()

    def run_program(self, *words):
        env = {k: v for k, v in os.environ.items() if k != "TTSIM" and not k.lower().endswith("_proxy")}
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=100,
                              env={**env, "BARETILE_CACHE_DIR": self.cache})
        return done.returncode, done.stdout + done.stderr

    def get(self, path="/whole", digest=hashlib.sha256(LIBRARY).hexdigest()):
        source = path if path.startswith("/tmp") else f"http://127.0.0.1:{self.server.server_port}{path}"
        return self.run_program("chip", "ttsim", "--from", source, "--sha256", digest)

    def test_the_file_comes_once_and_makes_the_device(self):
        code, output = self.get()
        self.assertEqual((code, self.target.read_bytes() == LIBRARY), (0, True), output)
        self.assertIn(str(self.target), output)
        self.assertEqual(self.get()[0], 0)
        self.assertEqual(len(Server.requests), 1)
        if not TTSIM:
            self.skipTest("TTSIM is not set, so there is no library to run on")
        code, output = self.run_program("hello", "--device", "ttsim")
        self.assertRegex(output, r"^\d+ Tensix workers computed fib\(30\) = \{832040\}")

    def test_a_broken_download_is_continued(self):
        code, output = self.get("/breaks")
        self.assertEqual((code, self.target.exists()), (1, False))
        self.assertIn("the same command continues it", output)
        self.assertEqual(self.get("/breaks")[0], 0)
        self.assertEqual(Server.requests, [("/breaks", 0), ("/breaks", 1000)])
        self.assertEqual(self.target.read_bytes(), LIBRARY)

    def test_a_server_without_ranges_sends_all_again(self):
        self.get("/breaks")
        code, output = self.get("/no-ranges")
        self.assertEqual((code, self.target.exists()), (0, True), output)

    def test_another_file_is_refused_and_removed(self):
        code, output = self.get("/other")
        self.assertEqual((code, list(self.target.parent.iterdir())), (1, []))
        self.assertIn(hashlib.sha256(LIBRARY[::-1]).hexdigest(), output)

    def test_what_is_missing_is_said_with_the_way_around(self):
        for path in ("/missing", "/breaks"):
            self.assertIn("Offline? Get that file on another machine", self.get(path)[1])
        port = self.server.server_port
        self.server.shutdown()
        self.server.server_close()
        code, output = self.run_program("chip", "ttsim", "--from", f"http://127.0.0.1:{port}/", "--sha256", "0" * 64)
        self.assertEqual(code, 1)
        self.assertIn("baretile chip ttsim --from FILE", output)
        code, output = self.run_program("hello", "--device", "ttsim")
        self.assertEqual(code, 2)
        self.assertIn("'baretile chip ttsim'", output)

    def test_a_file_that_was_carried_here_is_checked_too(self):
        with tempfile.NamedTemporaryFile(dir="/tmp") as file:
            file.write(LIBRARY)
            file.flush()
            self.assertEqual(self.get(file.name)[0], 0)
            self.assertEqual(self.target.read_bytes(), LIBRARY)
            self.assertEqual(self.get(file.name, "0" * 64)[0], 1)

    def test_no_hash_is_no_download(self):
        code, output = self.run_program("chip", "ttsim", "--sha256", "short")
        self.assertEqual((code, Server.requests), (2, []))
        self.assertIn("--sha256 HASH", output)


if __name__ == "__main__":
    if not shutil.which("curl"):
        print("curl is not installed")
        sys.exit(77)
    unittest.main()
