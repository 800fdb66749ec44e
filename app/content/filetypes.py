"""Languages and media types by file name."""

from typing import NamedTuple

TEXT, BINARY = "text/plain", "application/octet-stream"
# language: media type: endings
_TABLE = """
markdown: text/markdown: md markdown mdown mkd mkdn mdwn
mdx: text/mdx: mdx
markdoc: text/markdown: mdoc
html: text/html: html htm xhtml shtml
css: text/css: css
scss: text/x-scss: scss
sass: text/x-sass: sass
less: text/x-less: less
stylus: text/x-stylus: styl
javascript: text/javascript: js mjs cjs
jsx: text/jsx: jsx
typescript: text/typescript: ts mts cts
tsx: text/tsx: tsx
json: application/json: json webmanifest map
jsonc: application/json: jsonc json5
jsonl: application/jsonl: jsonl ndjson
geojson: application/geo+json: geojson
yaml: application/yaml: yaml yml
toml: application/toml: toml
ini: text/plain: ini cfg conf editorconfig properties
dotenv: text/plain: env
csv: text/csv: csv
tsv: text/tab-separated-values: tsv
xml: application/xml: xml xsl xsd
rss: application/rss+xml: rss
atom: application/atom+xml: atom
svg: image/svg+xml: svg
astro: text/x-astro: astro
vue: text/x-vue: vue
svelte: text/x-svelte: svelte svx
nunjucks: text/x-nunjucks: njk nunjucks
liquid: text/x-liquid: liquid
handlebars: text/x-handlebars: hbs handlebars mustache
ejs: text/x-ejs: ejs
pug: text/x-pug: pug jade
haml: text/x-haml: haml
slim: text/x-slim: slim
webc: text/html: webc
twig: text/x-twig: twig
go-template: text/x-go-template: gohtml gotmpl tmpl
asciidoc: text/asciidoc: adoc asciidoc
restructuredtext: text/x-rst: rst
org: text/org: org
textile: text/x-textile: textile
latex: text/x-tex: tex
bibtex: text/x-bibtex: bib
python: text/x-python: py pyi
ruby: text/x-ruby: rb gemspec rake
go: text/x-go: go
rust: text/x-rust: rs
java: text/x-java: java
kotlin: text/x-kotlin: kt kts
swift: text/x-swift: swift
c: text/x-c: c h
cpp: text/x-c++: cpp cc cxx hpp hh
csharp: text/x-csharp: cs
php: text/x-php: php
perl: text/x-perl: pl pm
lua: text/x-lua: lua
r: text/x-r: r
elixir: text/x-elixir: ex exs
haskell: text/x-haskell: hs
scala: text/x-scala: scala
clojure: text/x-clojure: clj cljs edn
dart: text/x-dart: dart
shell: application/x-sh: sh bash zsh fish
powershell: text/x-powershell: ps1
batch: text/x-batch: bat cmd
sql: application/sql: sql
graphql: application/graphql: graphql gql
protobuf: text/x-protobuf: proto
prisma: text/plain: prisma
terraform: text/x-terraform: tf tfvars
nix: text/x-nix: nix
diff: text/x-diff: diff patch
vtt: text/vtt: vtt
srt: application/x-subrip: srt
ics: text/calendar: ics
notebook: application/x-ipynb+json: ipynb
text: text/plain: txt text log
-: image/png: png
-: image/jpeg: jpg jpeg jfif
-: image/gif: gif
-: image/webp: webp
-: image/avif: avif
-: image/apng: apng
-: image/heic: heic
-: image/bmp: bmp
-: image/tiff: tif tiff
-: image/x-icon: ico
-: video/mp4: mp4 m4v
-: video/webm: webm
-: video/quicktime: mov
-: video/ogg: ogv
-: audio/mpeg: mp3
-: audio/ogg: ogg oga opus
-: audio/wav: wav
-: audio/mp4: m4a
-: audio/flac: flac
-: font/woff: woff
-: font/woff2: woff2
-: font/ttf: ttf
-: font/otf: otf
-: application/vnd.ms-fontobject: eot
-: application/pdf: pdf
-: application/zip: zip
-: application/gzip: gz tgz
-: application/x-tar: tar
-: application/wasm: wasm
-: application/msword: doc
-: application/vnd.openxmlformats-officedocument.wordprocessingml.document: docx
-: application/vnd.openxmlformats-officedocument.spreadsheetml.sheet: xlsx
-: application/vnd.openxmlformats-officedocument.presentationml.presentation: pptx
-: application/epub+zip: epub
"""


class FileType(NamedTuple):
    """Language in lower case and media type of a file. Each is None if the name does not determine it."""

    language: str | None
    mime: str | None


_NAMES = {
    "dockerfile": FileType("dockerfile", "text/x-dockerfile"),
    "containerfile": FileType("dockerfile", "text/x-dockerfile"),
    "makefile": FileType("makefile", "text/x-makefile"),
    "gemfile": FileType("ruby", "text/x-ruby"),
    "rakefile": FileType("ruby", "text/x-ruby"),
    "procfile": FileType("yaml", "application/yaml"),
    "gemfile.lock": FileType("text", TEXT),
    "yarn.lock": FileType("text", TEXT),
    "cargo.lock": FileType("toml", "application/toml"),
    "poetry.lock": FileType("toml", "application/toml"),
    "composer.lock": FileType("json", "application/json"),
    "license": FileType("text", TEXT),
    "readme": FileType("text", TEXT),
    "cname": FileType("text", TEXT),
    "_redirects": FileType("text", TEXT),
    "_headers": FileType("text", TEXT),
    ".gitignore": FileType("ignore", TEXT),
    ".dockerignore": FileType("ignore", TEXT),
    ".npmignore": FileType("ignore", TEXT),
    ".eslintignore": FileType("ignore", TEXT),
    ".prettierignore": FileType("ignore", TEXT),
    ".gitattributes": FileType("gitattributes", TEXT),
    ".gitmodules": FileType("ini", TEXT),
    ".npmrc": FileType("ini", TEXT),
    ".prettierrc": FileType("yaml", "application/yaml"),
    ".eslintrc": FileType("jsonc", "application/json"),
    ".babelrc": FileType("jsonc", "application/json"),
}


def _endings() -> dict[str, FileType]:
    rows = (line.split(": ") for line in _TABLE.strip().splitlines())
    return {
        ending: FileType(None if language == "-" else language, mime)
        for language, mime, endings in rows
        for ending in endings.split()
    }


_ENDINGS = _endings()


def file_type(path: str) -> FileType:
    """Return the language and media type of a path. The case of letters is ignored."""
    name = path.rpartition("/")[2].lower()
    if name in _NAMES:
        return _NAMES[name]
    stem, dot, ending = name.rpartition(".")
    if dot and ending in _ENDINGS:
        return _ENDINGS[ending]
    if name.startswith(".env"):
        return FileType("dotenv", TEXT)
    return _NAMES.get(stem, FileType(None, None)) if stem in ("dockerfile", "containerfile") else FileType(None, None)


def endings_of(kind: str) -> list[str]:
    """Return the endings of a type: a language (`markdown`), a media type or its first part (`image`), or an ending."""
    name = kind.lower().lstrip(".")
    endings = [
        f".{ending}"
        for ending, (language, mime) in _ENDINGS.items()
        if name in (language, mime) or (mime or "").startswith(f"{name}/")
    ]
    return endings or [f".{name}"]
