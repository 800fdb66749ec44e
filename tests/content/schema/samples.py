"""Schema files of each format, with the parts that real files use."""

from app.content.schema.model import ContentSchema, SourceKind
from app.resources.project_content.schema.schema_sources import READERS

GALLEY = b"""\
collections:
  - name: posts
    label: Posts
    folder: content/posts
    template: {path: "{{year}}-{{slug}}.md", values: {draft: true}, body: "Text"}
    fields:
      - {name: title, type: string, required: true, label: Title, default: New}
      - {name: state, type: select, options: [draft, 1], multiple: true}
      - {name: seo, type: object, fields: [{name: image, type: image}]}
      - {name: rows, type: list, item: {type: object, fields: [{name: n, type: number}]}}
      - {name: author, type: relation, collection: posts, value_field: name, title_field: name}
      - {name: any, type: mixed, types: [date, string]}
      - {name: day, type: date, date_format: dd.MM.yyyy, hint: The first day, translated: true}
      - {name: code, type: string, minimum: 2, maximum: 4, pattern: "^[a-z]+$", pattern_hint: Small letters}
      - {name: cover, type: image, media_folder: ./img, public_folder: /img}
      - {name: terms, type: list, accepts_single: true, item: {type: string}}
      - name: parts
        type: list
        item: {type: object, variant_key: kind, variants: [{name: a, type: object, fields: [{name: b, type: string}]}]}
    exclude: [README.md]
    filter: {field: kind, values: [post]}
    locales: [en, de]
    media_folder: static/img
    public_folder: /img
"""
DECAP = b"""\
backend: {name: git-gateway, branch: main}
media_folder: static/img
shared: &title {label: Title, name: title, widget: string}
collections:
  - name: blog
    label: Blog
    folder: /content/blog/
    create: true
    slug: "{{year}}-{{slug}}"
    fields:
      - *title
      - {<<: *title, name: subtitle, required: false}
      - {name: date, widget: datetime, time_format: false, default: "{{now}}"}
      - {name: kind, widget: select, options: [a, {label: B, value: b}]}
      - {name: tags, widget: list}
      - {name: gallery, widget: list, fields: [{name: src, widget: image}]}
      - {name: names, widget: list, field: {name: n, widget: number}}
      - {name: author, widget: relation, collection: blog, value_field: name}
      - {name: body, widget: markdown}
  - name: settings
    files:
      - {name: site, label: Site, file: data/site.json, fields: [{name: title}, {name: body, widget: text}]}
"""
PAGES_CMS = b"""\
media: public
components: {seo: {type: object, fields: [{name: noindex, type: boolean}]}}
content:
  - name: posts
    type: collection
    path: src/posts
    filename: "{year}-{month}-{primary}"
    extension: mdx
    fields:
      - {name: title, type: string, required: true}
      - {name: at, type: date, options: {time: true}}
      - {name: tags, type: string, list: true}
      - {name: kind, type: select, options: {values: [a, {value: b, label: B}]}}
      - {name: seo, component: seo}
      - {name: author, type: reference, options: {collection: posts}}
      - {name: body, type: rich-text}
  - {name: group, type: group, items: [{name: site, type: file, path: data/site.yml, fields: [{name: body, type: text}]}]}
"""
FRONT_MATTER = b"""\
{
  // https://frontmatter.codes
  "$schema": "https://frontmatter.codes/frontmatter.schema.json",
  "frontMatter.taxonomy.contentTypes": [{
    "name": "post", "pageBundle": false, "fileType": "mdx",
    "fields": [
      {"title": "Title", "name": "title", "type": "string", "single": true, "required": true},
      {"title": "Published", "name": "date", "type": "datetime", "default": "{{now}}"},
      {"name": "kind", "type": "choice", "choices": ["a", {"id": "b", "title": "B"}]},
      {"name": "line", "type": "divider"},
      {"name": "tags", "type": "tags"},
      {"name": "images", "type": "image", "multiple": true},
      {"name": "seo", "type": "fields", "fields": [{"name": "text", "type": "string", "single": false}]},
    ],
  }],
  "frontMatter.content.pageFolders": [
    {"title": "Posts", "path": "[[workspace]]/content/posts", "contentTypes": ["post"]},
    {"title": "Pages", "path": "[[workspace]]/content"},
  ],
}
"""
SAMPLES = {
    SourceKind.GALLEY: (".galley.yml", GALLEY),
    SourceKind.DECAP: ("static/admin/config.yml", DECAP),
    SourceKind.PAGES_CMS: (".pages.yml", PAGES_CMS),
    SourceKind.FRONT_MATTER: ("frontmatter.json", FRONT_MATTER),
}


def sample(kind: SourceKind) -> ContentSchema:
    """Return the schema of the sample of a kind, which has no problem."""
    schema = READERS[kind](*SAMPLES[kind])
    assert schema is not None
    assert schema.problems == ()
    return schema


def types(schema: ContentSchema, number: int = 0) -> dict[str, str]:
    """Return the type of each field of a collection."""
    return {field.name: str(field.type) for field in schema.collections[number].fields}
