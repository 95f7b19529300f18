"""A real browser that tests steer: headless Chromium, by its DevTools protocol."""

import asyncio
import json
import shutil
import subprocess
import tempfile
import urllib.request

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

BUTTON = """
(() => {
  const walk = (node) => {
    for (const child of [...(node.shadowRoot ? [node.shadowRoot] : []), ...(node.children || [])]) {
      if (child.tagName === "BUTTON" && child.textContent.trim() === %s) return child;
      const found = walk(child);
      if (found) return found;
    }
    return null;
  };
  walk(document.body).click();
})()
"""


class Browser:
    """A page in Chromium; what its scripts throw is in `errors`."""

    def __init__(self, width: int, height: int) -> None:
        self.size, self.number, self.errors = (width, height), 0, []

    async def __aenter__(self):
        from tornado.websocket import websocket_connect

        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             "--remote-allow-origins=*", f"--user-data-dir={self.folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = next(line for line in self.process.stderr if "DevTools listening on" in line)
        port = line.split("127.0.0.1:")[1].split("/")[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            tab = next(tab for tab in json.load(answer) if tab["type"] == "page")
        self.socket = await websocket_connect(tab["webSocketDebuggerUrl"], max_message_size=10**8)
        await self.call("Runtime.enable")
        width, height = self.size
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        return self

    async def __aexit__(self, *error):
        self.process.kill()
        self.process.communicate()
        self.folder.cleanup()

    async def call(self, method, **parameters):
        """Send a command and return its result."""
        self.number += 1
        await self.socket.write_message(
            json.dumps({"id": self.number, "method": method, "params": parameters})
        )
        while True:
            message = json.loads(await self.socket.read_message())
            if message.get("method") == "Runtime.exceptionThrown":
                self.errors.append(message["params"]["exceptionDetails"])
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]

    async def evaluate(self, code):
        """Return the value of an expression in the page; None where it cannot be computed yet."""
        answer = await self.call("Runtime.evaluate", expression=code, returnByValue=True)
        return None if "exceptionDetails" in answer else answer["result"].get("value")

    async def until(self, code, seconds=60.0):
        """Wait until an expression is true, and return it."""
        for _ in range(int(5 * seconds)):
            value = await self.evaluate(code)
            if value:
                return value
            await asyncio.sleep(0.2)
        raise AssertionError(f"not true within {seconds} s: {code}")

    async def press(self, label):
        """Press the button with a label."""
        await self.evaluate(BUTTON % json.dumps(label))

    async def drag(self, x, y, to_x, to_y):
        """Drag with the mouse, in pixels of the page."""
        await self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind, at in (("mousePressed", (x, y)), ("mouseMoved", ((x + to_x) / 2, (y + to_y) / 2)),
                         ("mouseMoved", (to_x, to_y)), ("mouseReleased", (to_x, to_y))):  # fmt: skip
            await self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=at[0],
                y=at[1],
                button="left",
                buttons=1,
                clickCount=1,
            )
            await asyncio.sleep(0.1)
