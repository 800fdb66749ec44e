// Choice of an image and of its description: from the media library of the repository, or a new file.
import { create, createDialog, show, withQuery } from "./dom.ts";
import { text } from "./texts.ts";
import { imagesUrl, addPreview, upload } from "./upload.ts";

const SEARCH_DELAY_MS = 250;

export interface ChosenImage {
  url: string;
  alt: string;
}

interface ListedImage {
  path: string;
  url: string;
  preview: string;
  thumbnail?: string;
}

interface ImageTarget {
  /** The field that receives the image, empty for the text. */
  field?: string;
  /** The present description. A field without a description has none. */
  description?: string | null;
}

/** Ask for the description of an image. Returns null if the user cancels. */
export async function describeImage(alt: string, title = text("Describe the image")): Promise<string | null> {
  const [field, input] = description(alt);
  const dialog = createDialog(title, [field], [["", text("Cancel")], ["set", text("Apply")]]);
  return (await show(confirmOnEnter(dialog, input, "set"))) === "set" ? input.value.trim() : null;
}

/** Let the user choose an image of the draft or of the repository, or upload one. Returns null if the user cancels. */
export async function chooseImage(editor: HTMLElement, target: ImageTarget = {}): Promise<ChosenImage | null> {
  const { field: name = "", description: present = "" } = target;
  const [field, alt] = description(present ?? "");
  const list = create("div", { class: "image-list", role: "radiogroup", "aria-label": text("Images") });
  const filter = create("input", { class: "input", type: "search", id: "image-filter", autocomplete: "off" });
  const file = create("input", { class: "input", type: "file", id: "image-file", accept: "image/*" });
  const status = create("p", { class: "muted", role: "status" });
  let url = "";
  const select = (image: ListedImage) => {
    url = image.url;
    addPreview(editor, image.url, image.preview);
    if (!present) alt.value = nameOf(image.path);
  };
  let timer = 0;
  let actions = 0;
  const search = async () => {
    const own = ++actions;
    const { images, message } = await listImages(editor, filter.value, name);
    // The message of an upload that began meanwhile stays.
    if (own === actions) status.textContent = message;
    list.replaceChildren(...images.map((image) => option(image, () => select(image))));
  };
  filter.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void search(), SEARCH_DELAY_MS);
  });
  file.addEventListener("change", async () => {
    const chosen = file.files?.[0];
    if (!chosen) return;
    actions++;
    status.textContent = text("Uploading {name} …", { name: chosen.name });
    const result = await upload(editor, chosen, (message) => (status.textContent = message), name);
    if (!result) return;
    const uploaded = option(result, () => select(result));
    list.prepend(uploaded);
    uploaded.querySelector("input")!.click();
    if (!present) alt.value = result.alt;
    alt.focus();
    alt.select();
  });
  const content = [
    labelled(text("Upload a new image"), file),
    labelled(text("Images of the site"), filter),
    list,
    status,
    ...(present === null ? [] : [field]),
  ];
  const [title, label] = name ? [text("Image"), text("Apply")] : [text("Insert an image"), text("Insert")];
  const dialog = createDialog(title, content, [["", text("Cancel")], ["insert", label]]);
  dialog.classList.add("dialog--wide");
  const insert = dialog.querySelector<HTMLButtonElement>('button[value="insert"]')!;
  insert.addEventListener("click", (event) => {
    if (url) return;
    event.preventDefault();
    status.textContent = text("Choose an image.");
  });
  void search();
  const answer = await show(confirmOnEnter(dialog, alt, "insert"));
  return answer === "insert" && url ? { url, alt: alt.value.trim() } : null;
}

function description(alt: string): [HTMLElement, HTMLInputElement] {
  const input = create("input", { class: "input", id: "image-alt", autocomplete: "off", dir: "auto", maxlength: "500", "aria-describedby": "image-alt-help" });
  input.value = alt;
  const help = create("p", { class: "field__help", id: "image-alt-help" }, text("For people who do not see the image. Leave it empty if the image is decoration."));
  const field = labelled(text("Description"), input);
  field.append(help);
  return [field, input];
}

function labelled(label: string, input: HTMLInputElement): HTMLElement {
  return create("div", { class: "field" }, create("label", { class: "field__label", for: input.id }, label), input);
}

/** Let Enter in a field press a button of the dialog other than the first. */
function confirmOnEnter(dialog: HTMLDialogElement, input: HTMLInputElement, value: string): HTMLDialogElement {
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    dialog.querySelector<HTMLButtonElement>(`button[value="${value}"]`)!.click();
  });
  return dialog;
}

function option(image: ListedImage, select: () => void): HTMLElement {
  const input = create("input", { type: "radio", name: "image", value: image.url, class: "visually-hidden", change: select });
  const picture = create("img", { src: image.thumbnail ?? image.preview, alt: "", loading: "lazy" });
  return create("label", { class: "image-list__item", title: image.path }, input, picture, create("span", {}, image.path.replace(/^.*\//, "")));
}

async function listImages(editor: HTMLElement, filter: string, field: string): Promise<{ images: ListedImage[]; message: string }> {
  const query = new URLSearchParams({ q: filter, field });
  try {
    const response = await fetch(withQuery(imagesUrl(editor), query), { headers: { Accept: "application/json" } });
    const { images, message = "" } = await response.json();
    return { images: images ?? [], message: images?.length === 0 ? text("No image matches.") : message };
  } catch {
    return { images: [], message: text("The service does not respond. Your text is still here.") };
  }
}

function nameOf(path: string): string {
  return path.replace(/^.*\//, "").replace(/\.\w+$/, "").replace(/[-_]+/g, " ");
}
