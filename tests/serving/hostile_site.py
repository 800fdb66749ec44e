"""Hostile pages of a Hugo site in the page "Edit on the page": a table of scripts, markup and policies.

Each page has a title and a paragraph with marks, so that its script can send the numbers of real texts.
"""

import json
from dataclasses import dataclass

from tests.support.samples.gitrepo import GitRepo

START = """
const send = navigator.sendBeacon.bind(navigator), encode = encodeURIComponent, stringify = JSON.stringify;
const report = (kind, text) => send('/report?kind=' + kind + '&text=' + encode(text));
const attempt = async (name, call) => { try { const result = await call(); if (result !== undefined) report('told', name + ' ' + result); } catch {} };
const consoleOrigin = location.ancestorOrigins[0];
let port = null;
const connected = new Promise((resolve) => addEventListener('message', (event) => {
  if (event.data?.galley !== 'connect' || !event.ports[0]) return;
  event.stopImmediatePropagation();
  port = event.ports[0];
  port.onmessage = ({ data }) => report('heard', stringify(data));
  resolve();
}, true));
const ask = () => parent.postMessage({ galley: 'page' }, '*');
const rect = { x: 10, y: 10, width: 200, height: 20 };
const digits = [...document.title].map((each) => each.codePointAt(0) - 0x2060).filter((each) => each >= 0 && each < 4);
const first = digits.slice(3, 15).reduce((number, digit) => 4 * number + digit, 0);
const numbers = Array.from({ length: 400 }, (_, index) => first + index);
const selected = (changes) => port.postMessage({ type: 'select', numbers, rect, text: document.querySelector('h1').textContent, kind: 'text', href: null, ...changes });
await new Promise((resolve) => addEventListener('DOMContentLoaded', resolve));
"""
"""The script receives the port before that of Galley, and speaks to the console itself. It reports what it read."""

VALUES = {
    "negative": "-1",
    "nan": "NaN",
    "infinite": "Infinity",
    "huge": "1e308",
    "text": "'7'",
    "none": "null",
    "fraction": "0.5",
    "object": "({})",
    "integer": "10n",
    "nested": "[[[[1]]]]",
}
FIELDS = {
    "numbers": "selected({ numbers: [%s, first] })",
    "number-list": "selected({ numbers: %s })",
    "rect": "selected({ rect: { x: %s, y: %s, width: %s, height: %s } })",
    "move": "selected({}); port.postMessage({ type: 'move', rect: { x: %s, y: 1, width: 1, height: %s } })",
    "page": "port.postMessage({ type: 'page', url: %s, title: %s, main: [%s, first], numbers: [%s] })",
}
EXPOSED = "Object.assign(window, { first, selected, chosen: [first], shownText: undefined, send: (data) => port.postMessage(data) }); addEventListener('click', () => selected({ numbers: chosen, text: shownText ?? document.querySelector('h1').textContent }))"
MESSAGES = {
    "missing": "for (const type of ['page', 'select', 'move', 'leave', 'mode', 'clear', 'save', '__proto__', undefined, null, 7]) port.postMessage({ type })",
    "primitives": "for (const data of [null, 1, 'select', [], true, 1n, new Date(), new Map([['type', 'select']]), /x/]) port.postMessage(data)",
    "select-flood": "for (let index = 0; index < 20000; index++) selected({ numbers: [first + index % 400] })",
    "page-flood": "for (let index = 0; index < 20000; index++) port.postMessage({ type: 'page', url: `/x${index}`, title: 'x', main: [], numbers: [first + index] })",
    "number-flood": "for (let index = 0; index < 2000; index++) port.postMessage({ type: 'page', url: '/x', title: '', main: [], numbers: Array.from({ length: 500 }, (_, each) => index * 500 + each) })",
    "move-flood": "selected({}); for (let index = 0; index < 50000; index++) port.postMessage({ type: 'move', rect: { ...rect, y: index % 900 } })",
    "leave-flood": "for (let index = 0; index < 20000; index++) port.postMessage({ type: 'leave' })",
    "connect-flood": "for (let index = 0; index < 20000; index++) ask()",
    "connect-endless": "setInterval(() => { for (let index = 0; index < 300; index++) ask(); }, 50)",
    "nested-flood": "const frame = document.createElement('iframe'); frame.srcdoc = '<script>setInterval(() => { for (let i = 0; i < 300; i++) top.postMessage({ galley: \"page\" }, \"*\") }, 50)<\\/script>'; document.body.append(frame)",
    "long-text": "selected({ text: 'x'.repeat(2e7), href: 'y'.repeat(2e7) })",
    "long-list": "port.postMessage({ type: 'page', url: '/', title: '', main: new Array(4e9), numbers: new Array(1e6).fill(first) })",
    "addresses": "for (const url of ['//evil.example/', '/\\\\evil.example/', 'javascript:alert(1)', '/\\t/evil.example', consoleOrigin + '/console', 'data:text/html,x', '']) port.postMessage({ type: 'page', url, title: '', main: [], numbers: [] })",
    "links": "for (const href of ['javascript:parent.broken = 1', consoleOrigin + '/console/sign-out', 'data:text/html,x', '//evil.example']) selected({ href })",
    "markup": "const bad = '<img src=x onerror=parent.broken=1>'; port.postMessage({ type: 'page', url: '/' + bad, title: bad, main: [first], numbers }); selected({ text: bad })",
    "prototype": 'port.postMessage(JSON.parse(\'{"type": "select", "__proto__": {"isSaving": true}, "rect": {"__proto__": {"x": 1}}}\'))',
    "other-files": "selected({ numbers: [0, 1, 2, 3, 4, 5, 4 ** 12 - 1, 4 ** 12, 2 ** 53, first + 4 ** 10] })",
    "other-window": "const frame = document.createElement('iframe'); document.body.append(frame); frame.contentWindow.eval(\"for (const data of [{galley: 'page'}, {galley: 'connect'}]) { parent.parent.postMessage(data, '*'); top.postMessage(data, '*'); }\")",
    "passed-port": "const frame = document.createElement('iframe'); frame.srcdoc = '<script>onmessage = ({ ports }) => { for (let i = 0; i < 99; i++) ports[0].postMessage({ type: \"leave\" }) }<\\/script>'; frame.onload = () => frame.contentWindow.postMessage(1, '*', [port]); document.body.append(frame)",
    "exposed": EXPOSED,
    "moving": EXPOSED,
    "select-late": "setInterval(() => selected({ numbers: [first + Math.floor(Math.random() * 400)] }), 20)",
}
ATTEMPTS = {
    "document": "await attempt('document', () => parent.document.title); await attempt('location', () => parent.location.href); await attempt('storage', () => parent.localStorage.length)",
    "globals": "for (const name of ['self', 'frames', 'htmx', 'trustedTypes']) await attempt(name, () => { parent[name].document.title; return 'read'; })",
    "siblings": "for (let index = 0; index < top.length; index++) if (top[index] !== window) await attempt(index, () => top[index].document.title)",
    "referrer": "await attempt('referrer', () => /projects|token|access/.test(document.referrer) ? document.referrer : undefined)",
    "ancestors": "await attempt('frame', () => frameElement.outerHTML)",
    "top": "for (const to of ['about:blank#taken', consoleOrigin + '/console/sign-out', 'https://evil.example/']) { await attempt('top', () => { top.location.href = to; }); await attempt('replace', () => { parent.location.replace(to); }); open(to, '_top'); open(to, '_parent'); }",
    "popups": "for (let index = 0; index < 30; index++) await attempt('popup', () => { const other = open(consoleOrigin + '/console', 'x' + index); if (other) return other.document.title; })",
    "opener": "await attempt('opener', () => opener.location.href); await attempt('name', () => { const other = open('', 'site-frame'); return other ? other.document.title : undefined; })",
    "fetch": "for (const path of ['/console', '/api/v1/user/me', '/api/sandbox/create', '/console/projects']) for (const method of ['GET', 'POST']) await attempt(path, async () => (await fetch(consoleOrigin + path, { method, credentials: 'include' })).text())",
    "opaque": "for (const method of ['GET', 'POST']) for (const path of ['/console', '/api/sandbox/create']) await attempt(path, async () => { await fetch(consoleOrigin + path, { method, mode: 'no-cors', credentials: 'include', body: method === 'POST' ? 'x' : undefined }); })",
    "beacon": "navigator.sendBeacon(consoleOrigin + '/console/sign-out', 'x'); new Image().src = consoleOrigin + '/console/projects'",
    "socket": "await attempt('socket', () => new Promise((resolve, reject) => { const socket = new WebSocket(consoleOrigin.replace('http', 'ws') + '/console'); socket.onopen = () => resolve('open'); socket.onerror = reject; }))",
    "frame-console": "for (const path of ['/console', '/console/sign-in', '/healthz']) await attempt(path, () => new Promise((resolve, reject) => { const frame = document.createElement('iframe'); frame.src = consoleOrigin + path; frame.onload = () => { try { resolve(frame.contentDocument?.title || undefined); } catch (error) { reject(error); } }; document.body.append(frame); }))",
    "go-console": "location.href = consoleOrigin + '/console'",
    "go-file": "location.href = consoleOrigin + '/console/projects'; setTimeout(ask)",
    "go-blob": "location.href = URL.createObjectURL(new Blob(['<script>parent.postMessage({galley: \"page\"}, \"*\")<\\/script>'], { type: 'text/html' }))",
    "go-data": 'location.href = \'data:text/html,<script>parent.postMessage({galley:"page"},"*")<\\/script>\'',
    "go-blank": "const frame = document.createElement('iframe'); frame.src = 'about:blank'; document.body.append(frame); frame.contentWindow.parent.location = 'about:blank'",
    "go-round": "if (location.hash.length < 20) { location.hash += 'x'; location.reload(); }",
    "worker": "for (const path of ['/worker.js', '/_galley/page-marks.js', '/_galley/worker.js']) await attempt(path, async () => { const known = await navigator.serviceWorker.register(path); return path === '/worker.js' ? undefined : known.scope; })",
    "alerts": "for (let index = 0; index < 50; index++) { alert('x'); confirm('x'); prompt('x'); print(); }",
    "unload": "addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'x'; alert('x'); })",
    "history": "for (let index = 0; index < 300; index++) history.pushState(index, '', `#${index}`)",
    "fullscreen": "for (const call of [() => document.documentElement.requestFullscreen(), () => document.body.requestPointerLock(), () => navigator.clipboard.readText(), () => navigator.mediaDevices.getUserMedia({ audio: true }), () => Notification.requestPermission().then((answer) => { if (answer !== 'granted') throw 0; })]) await attempt('permission', async () => { await call(); return 'granted'; })",
    "focus": "document.body.prepend(Object.assign(document.createElement('input'), { id: 'thief' })); setInterval(() => { focus(); document.querySelector('#thief').focus(); }, 10); addEventListener('keydown', (event) => report('key', event.key), true); addEventListener('click', () => selected({ numbers: [first] }))",
    "hang": "const end = Date.now() + 2500; while (Date.now() < end);",
    "cookies": "for (const host of ['preview.localhost', 'localhost', location.hostname]) for (const name of ['preview_session', 'session_token', '__Host-session_token']) document.cookie = `${name}=forged; domain=${host}; path=/`; await attempt('cookies', () => /session_token=(?!forged)/.test(document.cookie) ? document.cookie : undefined)",
    "script": "await attempt('script', async () => { const text = await (await fetch('/_galley/')).text(); return /data-console/.test(text) ? text : undefined; })",
}
REPLACED = {
    "postMessage": "window.postMessage = MessagePort.prototype.postMessage = () => {}",
    "port": "Object.defineProperty(MessagePort.prototype, 'onmessage', { set(call) { this.addEventListener('message', (event) => { report('heard', stringify(event.data)); call.call(this, { data: { type: 'select', number: NaN } }); }); this.start(); } })",
    "channel": "window.MessageChannel = window.MessagePort = window.MessageEvent = class {}",
    "array": "for (const name of ['push', 'pop', 'map', 'filter', 'find', 'slice']) Array.prototype[name] = function () { throw new Error('array'); }",
    "iterator": "Array.prototype[Symbol.iterator] = function* () { yield* [1, 2, 3]; }",
    "then": "Object.defineProperty(Object.prototype, 'then', { get() { return undefined; } })",
    "type": "for (const name of ['type', 'galley', 'numbers', 'rect']) Object.defineProperty(Object.prototype, name, { get() { return 'select'; }, set() {} })",
    "parent": "window.parent = window; Object.defineProperty(window, 'parent', { get: () => ({ postMessage() {} }) })",
    "json": "JSON.stringify = JSON.parse = () => { throw new Error('json'); }",
    "events": "EventTarget.prototype.addEventListener = function () {}",
    "string": "String.prototype.includes = String.prototype.indexOf = () => 0",
    "timers": "window.setTimeout = window.requestAnimationFrame = (call) => { call(); return 0; }",
    "weak": "window.WeakMap = window.WeakRef = window.MutationObserver = window.IntersectionObserver = class { observe() {} }",
    "origins": "try { Object.defineProperty(location, 'ancestorOrigins', { value: ['https://evil.example'] }); } catch {} location.hash = '#other'",
}
ON_SCRIPT = """
const onScript = (act) => new MutationObserver((_, observer) => {
  const script = document.querySelector('script[data-console]');
  if (script) { observer.disconnect(); act(script); }
}).observe(document, { childList: true, subtree: true });
"""
RAN = "navigator.sendBeacon('/report?kind=ran&text=');"
"""A page that replaces its own document, or that needs no script, reports before that."""

EARLY = {
    "removed": "onScript((script) => script.remove())",
    "replaced": "onScript((script) => { script.dataset.console = '*'; script.dataset.last = '99999999'; const other = script.cloneNode(); script.replaceWith(other); for (let index = 0; index < 20; index++) document.head.append(Object.assign(document.createElement('script'), { src: script.src })); })",
    "open": "addEventListener('load', () => { document.open(); document.write('<title>x</title><p>Written</p><script>parent.postMessage({galley: \"page\"}, \"*\")<\\/script>'); document.close(); })",
    "write": "document.write('<plaintext><h1>Written')",
    "opens": "addEventListener('load', () => { for (let index = 0; index < 300; index++) { document.open(); document.write('<p>' + index); document.close(); } })",
    "nonce": "onScript(({ nonce }) => document.head.append(Object.assign(document.createElement('script'), { nonce, textContent: 'parent.postMessage({galley: \"page\"}, \"*\")' })))",
    "removing": "new MutationObserver(() => document.documentElement.replaceChildren()).observe(document, { childList: true, subtree: true })",
    "churn": "setInterval(() => { for (const each of document.querySelectorAll('p, h1')) each.replaceWith(each.cloneNode(true)); }, 1)",
}
MARKUP = {
    "form": '<form id="form" method="post" action="%(console)s/site"><input name="file" value="hugo.toml"></form><script>form.submit()</script>',
    "form-top": '<form id="form" method="post" target="_top" action="%(console)s/site"><input name="file" value="hugo.toml"></form><script>form.submit()</script>',
    "form-get": '<form id="form" target="_parent" action="%(console)s/site"><input name="at" value="/taken"></form><script>form.submit()</script>',
    "form-new": '<form id="form" method="post" target="_blank" action="%(console)s/site"><input name="file" value="hugo.toml"></form><script>form.submit()</script>',
    "refresh": '<meta http-equiv="refresh" content="0;url=%(console)s">',
    "refresh-away": '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:1/">',
    "base": '<base href="https://evil.example/a/" target="_top">',
    "objects": '<object data="%(console)s"></object><embed src="%(console)s"><iframe src="%(console)s"></iframe>',
    "self": '<iframe src="?inner"></iframe><object data="?inner"></object><embed src="?inner">',
    "imitation": '<section role="dialog" aria-label="Text"><textarea autofocus>Type here</textarea><button onclick="parent.postMessage({galley: \'save\'}, \'*\')">Save</button></section>',
    "cover": '<div style="position:fixed;inset:-9999px;z-index:2147483647" popover="manual" id="cover">Cover</div><script>cover.showPopover()</script>',
    "dialog": '<dialog id="dialog"><p>Modal</p></dialog><script>dialog.showModal()</script>',
    "unclosed": "<p>Text</p><textarea><!-- <plaintext>",
    "nested": "<b><i>" * 3_000 + "x",
    "drawing": "<svg><script>top.location = 'about:blank#taken'</script></svg><math><mtext><img src=x onerror=\"top.location='about:blank#taken'\"></math>",
    "preload": '<link rel="preload" as="fetch" crossorigin="use-credentials" href="%(console)s"><link rel="prefetch" href="%(console)s"><script src="%(console)s"></script><link rel="stylesheet" href="%(console)s">',
    "speculation": '<script type="speculationrules">{"prerender": [{"urls": ["%(console)s"]}], "prefetch": [{"urls": ["%(console)s"]}]}</script>',
    "many-marks": "<div id=many></div><script>{ const mark = [...document.querySelector('h1').textContent].filter((each) => each > '\\u205f' && each < '\\u2064').join(''); many.innerHTML = `<p>x${mark}</p>`.repeat(50000); }</script>",
}
POLICIES = {
    "none": "default-src 'none'",
    "strict": "script-src 'strict-dynamic' 'nonce-x'; object-src 'none'",
    "sandbox": "sandbox",
    "sandbox-scripts": "sandbox allow-scripts",
    "ancestors": "frame-ancestors 'none'",
    "types": "require-trusted-types-for 'script'; trusted-types 'none'",
    "several": "script-src 'none', default-src 'self'; script-src-elem 'none', frame-ancestors *",
    "broken": "script-src ;;; 'nonce-' \\u00e9 , , ;frame-ancestors",
}


@dataclass(frozen=True)
class HostilePage:
    """A page of the site. `script` runs in a head, `markup` is in the body, `policy` is a header."""

    kind: str
    name: str
    markup: str
    policy: str = ""

    @property
    def slug(self) -> str:
        return f"{self.kind}-{self.name}".lower()


def _script(text: str, *, waits: bool = False) -> str:
    wait = "ask(); await connected; await new Promise((resolve) => setTimeout(resolve, 150));" if waits else ""
    return f"<script>(async () => {{ {START} {wait} {text}; report('ran', ''); }})()</script>"


def _pages() -> dict[str, HostilePage]:
    pages = [
        HostilePage(f"forged-{field}", name, _script(script.replace("%s", value), waits=True))
        for field, script in FIELDS.items()
        for name, value in VALUES.items()
    ]
    pages += [HostilePage("message", name, _script(script, waits=True)) for name, script in MESSAGES.items()]
    pages += [HostilePage("attempt", name, _script(script)) for name, script in ATTEMPTS.items()]
    pages += [HostilePage("replaced", name, _script(script)) for name, script in REPLACED.items()]
    pages += [
        HostilePage("early", name, f"<script>{RAN} {ON_SCRIPT} {{ {script} }}</script>")
        for name, script in EARLY.items()
    ]
    pages += [HostilePage("markup", name, f"<script>{RAN}</script>{text}") for name, text in MARKUP.items()]
    pages += [HostilePage("header", name, _script("ask()"), policy) for name, policy in POLICIES.items()]
    pages += [
        HostilePage("meta", name, f'<meta http-equiv="Content-Security-Policy" content="{policy}">' + _script("ask()"))
        for name, policy in POLICIES.items()
    ]
    return {page.slug: page for page in pages}


PAGES = _pages()
SHORT = (
    *("message-select-flood", "message-number-flood", "message-other-window", "attempt-top", "attempt-focus"),
    *("attempt-go-console", "replaced-type", "early-open", "markup-form"),
)
"""Pages of the short form."""


LAYOUT = """<!doctype html><html><head><title>{{ .Title }}</title>{{ with .Params.head }}{{ readFile . | safeHTML }}{{ end }}</head><body>
<main><h1>{{ .Title }}</h1>{{ .Content }}</main>{{ with .Params.body }}{{ readFile . | safeHTML }}{{ end }}</body></html>"""


def write_pages(repo: GitRepo, console: str) -> None:
    """Add the pages to the demo of Galley. `console` is the address of the project in the console."""
    files = {"layouts/hostile/single.html": LAYOUT.encode(), "static/worker.js": b"self.onfetch = () => {}"}
    headers = ""
    for slug, page in PAGES.items():
        where = "body" if page.kind == "markup" else "head"
        front = f"---\ntitle: Title of {slug}\n{where}: attacks/{slug}.html\n---\n\n"
        files[f"content/hostile/{slug}.md"] = f"{front}The long sentence of {slug} is here.\n".encode()
        files[f"attacks/{slug}.html"] = page.markup.replace("%(console)s", console).encode()
        if page.policy:
            value = f"[server.headers.values]\nContent-Security-Policy = {json.dumps(page.policy)}\n"
            headers += f'[[server.headers]]\nfor = "/hostile/{slug}/**"\n{value}'
    files["hugo.toml"] = repo.show("hugo.toml") + b"\n" + headers.encode()
    repo.commit(files, "Add pages")
