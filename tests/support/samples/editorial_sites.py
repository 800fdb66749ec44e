"""Sites of the size and structure of public ones: documentation in three languages, a blog, documentation with MDX.

The texts are generated from lists of words, so that the repository contains no content of other projects. Each site has the
configuration of its generator, components or shortcodes, images, dotfolders, and files that are no content.
"""

import io
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from PIL import Image

from app.content.slugs import SlugForm, slug_of

POSTS = 540
PICTURES = 12
SKIES = (14, 22, 28, 140, 150, 158, 166, 232)
"""The hues of the sky: from orange over blue to pink."""

START = date(2014, 3, 12)

Files = dict[str, bytes]


@dataclass(frozen=True)
class Vocabulary:
    """The words of a language: subjects with their tasks for titles, sentences for paragraphs, and headings."""

    subjects: Sequence[str]
    tasks: Sequence[str]
    sentences: Sequence[str]
    headings: Sequence[str]
    sections: Mapping[str, str]

    def titles(self) -> list[str]:
        """Return all titles in a fixed order."""
        return [task.format(subject) for task in self.tasks for subject in self.subjects]

    def paragraph(self, chance: random.Random, sentences: int = 3) -> str:
        """Return a paragraph on one line."""
        return " ".join(chance.sample(self.sentences, sentences))


ENGLISH = Vocabulary(
    subjects=(
        "the tide gauge",
        "the wind sensor",
        "the harbour radio",
        "the map server",
        "the alert service",
        "the archive",
        "the dashboard",
        "the mobile app",
        "the command line",
        "the message broker",
        "the backup job",
        "the public API",
    ),
    tasks=("Install {}", "Configure {}", "Upgrade {}", "Monitor {}", "Troubleshoot {}", "Extend {}"),
    sentences=(
        "The default settings suit a harbour with up to fifty berths.",
        "Every reading has a time, a value and the name of the sensor that sent it.",
        "Start with one station and add the others when the first week of data looks right.",
        "A restart takes about four seconds, and readings wait in the queue meanwhile.",
        "Operators see the change at once; visitors see it after the next refresh.",
        "The log names the file and the line if a value cannot be read.",
        "Keep the old version until the new one has run for a full tide.",
        "You can repeat this step safely, because it changes nothing that is already correct.",
        "Most problems at this point have a missing certificate as their cause.",
        "The service writes one line for each reading that it refuses.",
        "Times are stored in UTC and shown in the zone of the harbour.",
        "Ask the harbour office for the key before you begin.",
    ),
    headings=("Before you begin", "Settings", "Checking the result", "Known limits"),
    sections={"setup": "Setup", "operation": "Operation", "reference": "Reference"},
)
GERMAN = Vocabulary(
    subjects=(
        "den Pegelmesser",
        "den Windsensor",
        "den Hafenfunk",
        "den Kartendienst",
        "den Warndienst",
        "das Archiv",
        "die Übersicht",
        "die mobile App",
        "die Befehlszeile",
        "den Nachrichtendienst",
        "die Sicherung",
        "die Schnittstelle",
    ),
    tasks=(
        "{} installieren",
        "{} einrichten",
        "{} aktualisieren",
        "{} überwachen",
        "Fehler finden: {}",
        "{} erweitern",
    ),
    sentences=(
        "Die Voreinstellungen passen für einen Hafen mit bis zu fünfzig Liegeplätzen.",
        "Jede Messung hat eine Zeit, einen Wert und den Namen des Sensors.",
        "Beginnen Sie mit einer Station und ergänzen Sie die anderen nach einer Woche.",
        "Ein Neustart dauert etwa vier Sekunden, die Messungen warten so lange.",
        "Das Protokoll nennt die Datei und die Zeile, wenn ein Wert nicht lesbar ist.",
        "Behalten Sie die alte Version, bis die neue eine ganze Tide gelaufen ist.",
        "Dieser Schritt lässt sich gefahrlos wiederholen.",
        "Zeiten werden in UTC gespeichert und in der Zone des Hafens angezeigt.",
    ),
    headings=("Voraussetzungen", "Einstellungen", "Ergebnis prüfen", "Bekannte Grenzen"),
    sections={"setup": "Einrichtung", "operation": "Betrieb", "reference": "Referenz"},
)
ARABIC = Vocabulary(
    subjects=(
        "مقياس المد",
        "حساس الرياح",
        "راديو الميناء",
        "خادم الخرائط",
        "خدمة التنبيه",
        "الأرشيف",
        "لوحة المعلومات",
        "تطبيق الهاتف",
        "سطر الأوامر",
        "وسيط الرسائل",
        "النسخ الاحتياطي",
        "الواجهة العامة",
    ),
    tasks=("تثبيت {}", "إعداد {}", "تحديث {}", "مراقبة {}", "حل مشكلات {}", "توسيع {}"),
    sentences=(
        "تناسب الإعدادات الافتراضية ميناء فيه خمسون مرسى.",
        "لكل قراءة وقت وقيمة واسم الحساس الذي أرسلها.",
        "ابدأ بمحطة واحدة ثم أضف المحطات الأخرى بعد أسبوع.",
        "تستغرق إعادة التشغيل أربع ثوان تقريبا.",
        "يذكر السجل الملف والسطر إذا تعذرت قراءة قيمة.",
        "يمكن تكرار هذه الخطوة بأمان.",
        "تحفظ الأوقات بالتوقيت العالمي وتعرض بتوقيت الميناء.",
        "اطلب المفتاح من مكتب الميناء قبل البدء.",
    ),
    headings=("قبل البدء", "الإعدادات", "فحص النتيجة", "الحدود المعروفة"),
    sections={"setup": "الإعداد", "operation": "التشغيل", "reference": "المرجع"},
)
COAST = Vocabulary(
    subjects=(
        "Skagen", "Whitby", "Cork", "Bergen", "Husum", "Nantucket", "Tofino", "Galway", "Saint-Malo", "Ribe", "Oban", "Visby",
        "Lerwick", "Camden", "Cuxhaven", "Porto", "Ålesund", "Rockport", "Dingle", "Marstal",
    ),
    tasks=(
        "A weekend in {}", "The morning ferry to {}", "What the market of {} sells in winter", "Walking the sea wall of {}",
        "An old boatyard in {}", "Fog in {}", "The lighthouse of {} has a new lamp", "Herring, bread and tea in {}",
        "Letters from {}", "How {} repaired its pier", "The last net maker of {}", "Night trains and tides: the way to {}",
        "Five quiet beaches near {}", "The harbour choir of {}", "A storm, a roof and the people of {}", "Learning to row in {}",
        "The school boat of {}", "Salt, sheep and the marshes of {}", "A map of {} from 1874", "Who paints the boats of {}?",
        "Low tide in {}", "The café at the end of the pier in {}", "Reading the sky in {}", "Two days without a car in {}",
        "The museum of small engines in {}", "Sea swimming in {}", "The bakery that opens at four in {}",
    ),
    sentences=(
        "The first boat leaves before the bakery opens, so bring your own bread.",
        "Nobody here says how deep the channel is; they say how long the rope must be.",
        "We met Ingrid at the fuel dock, where she sells tickets, coffee and advice.",
        "In winter the quay belongs to the gulls and to two men who repair nets.",
        "A good map shows the sand banks, and a better one shows last year's sand banks.",
        "The tide turned while we were still looking for the key of the shed.",
        "If you have only one hour, walk to the end of the breakwater and back.",
        "The town bought the old crane for one crown and a promise.",
        "Fish is sold from the boats until ten, and stories until noon.",
        "Nothing is signposted, but every second house has a bench and someone on it.",
        "The wind comes around the corner of the church like a late guest.",
        "By the time the fog lifted, the ferry had already turned around.",
        "Take the upper path when the flag is red, and the lower one when it is not there.",
        "The water is cold in June, colder in May, and clear in both.",
    ),
    headings=("Getting there", "What to bring", "Where to eat", "When to go"),
    sections={},
)  # fmt: skip
SPANISH = Vocabulary(
    subjects=(
        "el componente de mapa",
        "el formulario de reserva",
        "la tabla de mareas",
        "el menú",
        "la galería",
        "el buscador",
        "las rutas",
        "los estilos",
        "las pruebas",
        "la caché",
    ),
    tasks=("Crear {}", "Configurar {}", "Probar {}"),
    sentences=(
        "Los valores predeterminados sirven para la mayoría de los sitios.",
        "Cada componente tiene sus propias opciones y un ejemplo.",
        "El servidor de desarrollo muestra el cambio sin recargar la página.",
        "Puedes repetir este paso sin riesgo.",
        "El registro indica el archivo y la línea del error.",
        "Pide la clave al equipo antes de empezar.",
    ),
    headings=("Antes de empezar", "Opciones", "Comprobar el resultado"),
    sections={"guides": "Guías", "components": "Componentes", "reference": "Referencia"},
)
COMPONENTS = Vocabulary(
    subjects=(
        "the map component", "the booking form", "the tide table", "the menu", "the gallery", "the search box", "routes",
        "styles", "tests", "the cache", "the image service", "server islands", "the content loader", "middleware",
    ),
    tasks=("Create {}", "Configure {}", "Test {}", "Migrate {}", "Deploy {}"),
    sentences=(
        "The defaults work for most sites, and each of them can be changed.",
        "Every component has its own options and one complete example.",
        "The development server shows the change without loading the page again.",
        "Types are generated from the schema of the collection.",
        "A build fails with the name of the file if a required value is missing.",
        "This option has an effect only when the page is rendered on demand.",
        "You can use the component in Markdown, in MDX and in layouts.",
        "The result is cached until its source or its options change.",
        "Import the component once at the start of the page.",
        "Nothing is sent to the browser unless the component needs it.",
    ),
    headings=("Prerequisites", "Options", "Example", "Checking the result"),
    sections={"guides": "Guides", "components": "Components", "reference": "Reference"},
)  # fmt: skip

CONFIGURED = {
    "README.md": b"# Site\n\nHow to build this site: see `CONTRIBUTING.md`.\n",
    ".editorconfig": b"root = true\n\n[*]\nindent_style = space\n",
    ".github/ISSUE_TEMPLATE/bug.md": b"---\nname: Bug\nabout: Something is broken\n---\n\nDescribe the bug.\n",
    ".github/workflows/build.yml": b"on: push\njobs: {}\n",
    "node_modules/a-theme/README.md": b"---\ntitle: A theme\n---\n\nNot a page of the site.\n",
    "node_modules/a-theme/docs/usage.md": b"---\ntitle: Usage of the theme\n---\n\nNot a page of the site.\n",
}
"""Files beside the content of each site."""

HUGO_CONFIGURATION = """\
baseURL = "https://docs.example.org/"
title = "Tidewater"
defaultContentLanguage = "en"
disableKinds = ["RSS", "sitemap", "taxonomy", "term"]

[languages.en]
contentDir = "content/en"
languageName = "English"
weight = 1
[languages.de]
contentDir = "content/de"
languageName = "Deutsch"
weight = 2
[languages.ar]
contentDir = "content/ar"
languageName = "العربية"
languageDirection = "rtl"
weight = 3
"""
SECTION = "description: Pages of this section\ndate: 2022-05-01\nweight: 5\ntags: [setup]\ndraft: false\n"
HUGO_FRAME = """\
<!doctype html>
<html lang="{{ site.Language.Lang }}"><head><title>{{ .Title }}</title><meta name="viewport" content="width=device-width">
<style>body { margin: 0; font: 17px/1.6 system-ui; color: #1d3040 } header { padding: 14px 5%; background: #12405a; color: #fff }
main { max-width: 40em; margin: 0 auto; padding: 24px 5% } a { color: #12688f } img { max-width: 100% }
.alert { padding: 8px 16px; border-inline-start: 4px solid #12688f; background: #eaf4f8 } li { margin: 6px 0 }</style></head>
<body><header><b>{{ site.Title }}</b></header><main>{{ block "main" . }}{{ end }}</main></body></html>
"""
HUGO_LIST = """\
{{ define "main" }}<h1>{{ .Title }}</h1>{{ .Content }}
<ul>{{ range first 12 .RegularPagesRecursive }}<li><a href="{{ .RelPermalink }}">{{ .Title }}</a><br>{{ .Description }}</li>{{ end }}</ul>{{ end }}
"""
HUGO_PAGE = """\
---
title: "{title}"
description: >-
  {description}
date: {day}
weight: {weight}
tags: [{tags}]
draft: {draft}
---

{first}

{{{{< alert color="info" title="{heading}" >}}}}
{aside}
{{{{< /alert >}}}}

## {heading}

{second}

1. {aside}
2. {third}
   ```console
   $ tidewater check --all   # takes a minute
   ```

| Option | Default |
|--------|:-------:|
| `interval` | 60 s |
| `depth`    | 2 m  |

![{heading}](/images/{picture}.jpg)

{{{{% include "snippets/support.md" %}}}}
"""


def hugo_documentation() -> Files:
    """Return documentation in English, German and Arabic, and a blog, as sites with the Hugo theme Docsy have them."""
    files: Files = {
        "hugo.toml": HUGO_CONFIGURATION.encode(),
        "go.mod": b"module docs.example.org\n",
        "layouts/_default/baseof.html": HUGO_FRAME.encode(),
        "layouts/_default/single.html": b'{{ define "main" }}<h1>{{ .Title }}</h1>{{ .Content }}{{ end }}\n',
        "layouts/_default/list.html": HUGO_LIST.encode(),
        "layouts/shortcodes/alert.html": b'<div class="alert"><b>{{ .Get "title" }}</b>{{ .Inner }}</div>\n',
        "layouts/shortcodes/include.html": b"<p>Support</p>\n",
        "archetypes/default.md": b'---\ntitle: \'{{ replace .Name "-" " " | title }}\'\ndate: {{ .Date }}\ndraft: true\n---\n',
        "i18n/en.toml": b'[more]\nother = "Read more"\n',
        "i18n/de.toml": b'[more]\nother = "Weiterlesen"\n',
        "data/stations.yaml": b"# Stations in the order of the coast\n- name: North pier\n  depth: 4.5\n- name: Old harbour\n  depth: 2.0\n",
        **{f"static/images/{name}.jpg": data for name, data in pictures().items()},
    }
    for language, terms, pages in (("en", ENGLISH, 72), ("de", GERMAN, 48), ("ar", ARABIC, 24)):
        chance = random.Random(language)
        files[f"content/{language}/_index.md"] = b"---\ntitle: Tidewater\n---\n"
        for section, label in terms.sections.items():
            files[f"content/{language}/docs/{section}/_index.md"] = f"---\ntitle: {label}\n{SECTION}---\n".encode()
        for number, (title, english) in enumerate(zip(terms.titles()[:pages], ENGLISH.titles(), strict=False)):
            section = list(terms.sections)[number * len(terms.sections) // 72]
            path = f"content/{language}/docs/{section}/{slug_of(english, SlugForm.ASCII)}.md"
            files[path] = _hugo_page(terms, title, number, chance)
    chance = random.Random("news")
    for number, title in enumerate(ENGLISH.titles()[::3]):
        name = slug_of(title, SlugForm.ASCII)
        files[f"content/en/blog/{2022 + number // 9}/{name}.md"] = _hugo_page(
            ENGLISH, f"{title} in spring", number, chance
        )
    return CONFIGURED | files


def _hugo_page(terms: Vocabulary, title: str, number: int, chance: random.Random) -> bytes:
    sentences = chance.sample(terms.sentences, 5)
    return HUGO_PAGE.format(
        title=title[0].upper() + title[1:],
        description=f"{sentences[0]}\n  {sentences[1]}",
        day=START + timedelta(days=3000 + number * 11),
        weight=number * 10,
        tags=", ".join(chance.sample(("setup", "sensors", "network", "release"), 2)),
        draft=str(number % 12 == 5).lower(),
        first=" ".join(sentences[1:3]),
        aside=sentences[4],
        second=terms.paragraph(chance, 4),
        third=sentences[3],
        heading=chance.choice(terms.headings),
        picture=_picture_name(number),
    ).encode()


JEKYLL_CONFIGURATION = """\
title: Salt & Timber
description: A weekly about small harbours
url: https://blog.example.org
permalink: /:year/:month/:title/
paginate: 10
plugins:
  - jekyll-feed
  - jekyll-paginate
defaults:
  - scope: {path: "", type: posts}
    values: {layout: post, comments: false}
exclude: [vendor, node_modules, Gemfile]
"""
JEKYLL_POST = """\
---
layout: post
title:  "{title}"
date:   {day} {hour:02}:15:00 +0100
author: {author}
categories: [{category}]
tags:
  - {tags[0]}
  - {tags[1]}
image: /assets/images/{picture}.jpg
excerpt: {excerpt}
published: {published}
---

{first}

<!--more-->

{second}

{{% include figure.html src="/assets/images/{picture}.jpg" caption="{heading}" %}}

## {heading}

{third} See [the map]({{{{ site.baseurl }}}}/map/) or [last week's letter]({{% post_url {other} %}}).

> {excerpt}

* Ferry: twice a day
* Bread: before *seven*
"""


def jekyll_blog(posts: int = POSTS) -> Files:
    """Return a blog with posts of ten years, drafts, pages and data files."""
    files: Files = {
        "_config.yml": JEKYLL_CONFIGURATION.encode(),
        "Gemfile": b'source "https://rubygems.org"\n\ngem "jekyll", "~> 4.3"\n',
        "_layouts/default.html": b"<html><body>{{ content }}</body></html>\n",
        "_layouts/post.html": b"---\nlayout: default\n---\n<h1>{{ page.title }}</h1>{{ content }}\n",
        "_includes/figure.html": b'<figure><img src="{{ include.src }}"><figcaption>{{ include.caption }}</figcaption></figure>\n',
        "_data/authors.yml": b"# Writers, newest first\nmara:\n  name: Mara Lind\n  town: Marstal\njoost:\n  name: Joost de Wit\n  town: Harlingen\n",
        "_data/navigation.yml": b"- title: Map\n  url: /map/\n- title: About\n  url: /about/\n",
        "about.md": b"---\nlayout: default\ntitle: About\npermalink: /about/\n---\n\nTwo people, one boat and a letter every week.\n",
        "map.md": b"---\nlayout: default\ntitle: Map\npermalink: /map/\n---\n\nAll harbours of the letters on one page.\n",
        "index.html": b"---\nlayout: default\n---\n{% for post in paginator.posts %}<h2>{{ post.title }}</h2>{% endfor %}\n",
        "vendor/bundle/gems/a-gem/README.md": b"---\ntitle: A gem\n---\n\nNot a page of the site.\n",
        "_site/about/index.html": b"<html><body>Built</body></html>\n",
        **{f"assets/images/{name}.jpg": data for name, data in pictures().items()},
    }
    chance = random.Random("blog")
    titles = COAST.titles()
    chance.shuffle(titles)
    names: list[str] = []
    for number, title in enumerate(titles[:posts]):
        day = START + timedelta(days=number * 7)
        names.append(f"{day}-{slug_of(title, SlugForm.ASCII)}")
        sentences = chance.sample(COAST.sentences, 6)
        text = JEKYLL_POST.format(
            title=title,
            day=day,
            hour=chance.randrange(6, 22),
            author=chance.choice(("Mara Lind", "Joost de Wit", "Ailsa Reid")),
            category=chance.choice(("travel", "people", "boats", "food")),
            tags=chance.sample(("ferry", "winter", "boatyard", "market", "weather", "walks"), 2),
            picture=_picture_name(number),
            excerpt=sentences[0],
            published=str(number % 40 != 7).lower(),
            first=" ".join(sentences[1:3]),
            second=COAST.paragraph(chance, 4),
            third=" ".join(sentences[3:5]),
            heading=chance.choice(COAST.headings),
            other=names[max(0, number - 1)],
        )
        files[f"_posts/{names[-1]}.md"] = text.encode()
    for title in titles[posts : posts + 3]:
        files[f"_drafts/{slug_of(title, SlugForm.ASCII)}.md"] = (
            f'---\ntitle: "{title}"\n---\n\n{COAST.sentences[0]}\n'.encode()
        )
    return CONFIGURED | files


ASTRO_CONFIGURATION = """\
import starlight from "@astrojs/starlight";
import { defineConfig } from "astro/config";

export default defineConfig({
  integrations: [starlight({
    title: "Moorings",
    defaultLocale: "en",
    locales: { en: { label: "English" }, es: { label: "Español" } },
  })],
});
"""
ASTRO_SCHEMA = """\
import { defineCollection } from "astro:content";
import { docsLoader } from "@astrojs/starlight/loaders";
import { docsSchema } from "@astrojs/starlight/schema";

export const collections = { docs: defineCollection({ loader: docsLoader(), schema: docsSchema() }) };
"""
ASTRO_PAGE = """\
---
title: {title}
description: {description}
sidebar:
  order: {order}
  badge: {badge}
i18nReady: true
lastUpdated: {day}
tags: [{tags}]
---

import {{ Steps, Tabs, TabItem }} from "@astrojs/starlight/components";
import Since from "~/components/Since.astro";

{first}

<Since v="{version}.0.0" />

:::tip[{heading}]
{aside}
:::

## {heading}

<Tabs syncKey="pkg">
  <TabItem label="npm">
  ```shell
  npm install moorings
  ```
  </TabItem>
  <TabItem label="pnpm">
  ```shell
  pnpm add moorings
  ```
  </TabItem>
</Tabs>

<Steps>
1. {second}

2. {third}
</Steps>

```ts title="src/options.ts" {{2}}
export const options = {{
  interval: {order},
}};
```

{last}
"""


def astro_documentation() -> Files:
    """Return documentation with MDX in English and Spanish, as sites with Starlight have it."""
    package = (
        b'{"name": "moorings", "private": true, "dependencies": {"astro": "5.14.1", "@astrojs/starlight": "0.36.0"}}\n'
    )
    files: Files = {
        "astro.config.mjs": ASTRO_CONFIGURATION.encode(),
        "package.json": package,
        "tsconfig.json": b'{"extends": "astro/tsconfigs/strict"}\n',
        "src/content.config.ts": ASTRO_SCHEMA.encode(),
        "src/components/Since.astro": b"---\nconst { v } = Astro.props;\n---\n<small>Since {v}</small>\n",
        "src/pages/404.astro": b"<h1>Not here</h1>\n",
        "src/data/sponsors.json": b'[{"name": "Harbour office", "tier": "gold"}]\n',
        **{f"src/assets/{name}.jpg": data for name, data in pictures().items()},
    }
    for language, terms in (("en", COMPONENTS), ("es", SPANISH)):
        chance = random.Random(language)
        files[f"src/content/docs/{language}/index.mdx"] = (
            b'---\ntitle: Moorings\ntemplate: splash\nhero:\n  tagline: Components for harbours\n---\n\n<Card title="Start" icon="rocket" />\n'
        )
        titles = terms.titles()
        for number, title in enumerate(titles):
            section = list(terms.sections)[number * len(terms.sections) // len(titles)]
            sentences = chance.sample(terms.sentences, 6)
            page = ASTRO_PAGE.format(
                title=title,
                description=sentences[0],
                order=number + 1,
                badge=chance.choice(("new", "stable")),
                day=START + timedelta(days=3900 + number * 3),
                tags=", ".join(chance.sample(("components", "content", "build", "routing"), 2)),
                first=" ".join(sentences[1:3]),
                version=chance.randrange(1, 6),
                heading=chance.choice(terms.headings),
                aside=sentences[3],
                second=sentences[4],
                third=sentences[5],
                last=terms.paragraph(chance, 2),
            )
            files[f"src/content/docs/{language}/{section}/{slug_of(title, SlugForm.ASCII)}.mdx"] = page.encode()
    return CONFIGURED | files


SITES: Mapping[str, Callable[[], Files]] = {
    "hugo": hugo_documentation,
    "jekyll": jekyll_blog,
    "astro": astro_documentation,
}


def _picture_name(number: int) -> str:
    return f"harbour-{number % PICTURES + 1:02}"


@cache
def pictures() -> Files:
    """Return small pictures of the sea at different times of the day, by name."""
    return {_picture_name(number): _seascape(number) for number in range(PICTURES)}


def _seascape(number: int, width: int = 480, height: int = 320) -> bytes:
    """Return a JPEG image with a sky, a sun and the sea."""
    chance = random.Random(number)
    horizon = height * chance.randrange(45, 70) // 100
    sky = Image.linear_gradient("L").resize((width, horizon)).point(lambda value: 130 + value // 2)
    sea = Image.linear_gradient("L").resize((width, height - horizon)).point(lambda value: 170 - value // 2)
    light, tone = Image.new("L", (width, height)), Image.new("L", (width, height), chance.choice(SKIES))
    light.paste(sky, (0, 0))
    light.paste(sea, (0, horizon))
    tone.paste(chance.randrange(135, 158), (0, horizon, width, height))
    radius, centre = chance.randrange(20, 50), chance.randrange(80, width - 80)
    disc = Image.radial_gradient("L").resize((radius * 2, radius * 2)).point(lambda value: 255 if value < 128 else 0)
    above = min(radius * 2, horizon - 10)
    light.paste(255, (centre - radius, horizon - above), disc)
    light.paste(sea, (0, horizon))
    out = io.BytesIO()
    Image.merge("HSV", (tone, Image.new("L", (width, height), 90), light)).convert("RGB").save(out, "JPEG", quality=80)
    return out.getvalue()
