// Image fields: a picture with a drop zone, paste, "Choose" and "Remove". The address is an input, and lists have one address per line.
import { create, toast } from "./dom.ts";
import { text } from "./texts.ts";
import { acceptsImages, imagesOf, previewOf, upload } from "./upload.ts";

/** Add the controls to the image fields below an element. */
export function initImages(form: HTMLFormElement, root: HTMLElement): void {
  if (!acceptsImages(form)) return;
  for (const field of root.querySelectorAll<HTMLElement>("[data-image-field]")) new ImageField(form, field);
}

class ImageField {
  private readonly form: HTMLFormElement;
  private readonly field: HTMLElement;
  private readonly target: string;
  private readonly input: HTMLInputElement | HTMLTextAreaElement;
  private readonly isList: boolean;

  constructor(form: HTMLFormElement, field: HTMLElement) {
    this.form = form;
    this.field = field;
    this.target = field.dataset.imageField!;
    this.isList = "imageList" in field.dataset;
    this.input = document.getElementById(`fm.${this.target}`) as HTMLInputElement | HTMLTextAreaElement;
    for (const hidden of field.querySelectorAll<HTMLElement>("[data-image-hint], [data-choose-image]")) hidden.hidden = false;
    const choose = field.querySelector<HTMLElement>("[data-choose-image]")!;
    choose.setAttribute("aria-haspopup", "dialog");
    choose.addEventListener("click", () => void this.choose());
    this.remove?.addEventListener("click", () => {
      this.set("");
      choose.focus();
    });
    this.input.addEventListener("input", () => this.show());
    this.acceptFiles(field.querySelector<HTMLElement>("[data-drop-zone]")!);
    this.show();
  }

  private get remove(): HTMLButtonElement | null {
    return this.field.querySelector<HTMLButtonElement>("[data-remove-image]");
  }

  private acceptFiles(zone: HTMLElement): void {
    const isOver = (value: boolean) => zone.toggleAttribute("data-over", value);
    zone.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      isOver(true);
    });
    zone.addEventListener("dragleave", () => isOver(false));
    zone.addEventListener("drop", (event) => {
      isOver(false);
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      void this.add(imagesOf(event.dataTransfer));
    });
    this.field.addEventListener("paste", (event) => {
      const files = imagesOf(event.clipboardData);
      if (!files.length) return;
      event.preventDefault();
      void this.add(files);
    });
  }

  private async add(files: File[]): Promise<void> {
    if (!files.length) return toast(text("This is not an image."));
    for (const file of this.isList ? files : files.slice(0, 1)) {
      const image = await upload(this.form, file, toast, this.target);
      if (image) this.set(image.url);
    }
  }

  private async choose(): Promise<void> {
    const { chooseImage } = await import("./image-dialog.ts");
    const description = this.isList ? null : this.description;
    const chosen = await chooseImage(this.form, { field: this.target, description: description?.value ?? null });
    if (!chosen) return;
    this.set(chosen.url);
    if (description && chosen.alt !== description.value) change(description, chosen.alt);
  }

  /** The input for the description of the image, where the schema has one beside the field. */
  private get description(): HTMLInputElement | HTMLTextAreaElement | null {
    const folder = this.target.slice(0, this.target.lastIndexOf("/") + 1);
    const names = [`${this.target}_alt`, `${this.target}Alt`, `${this.target}-alt`, ...["alt", "alt_text", "altText"].map((name) => folder + name)];
    const inputs = names.map((name) => document.getElementById(`fm.${name}`));
    return inputs.find((input) => input instanceof HTMLInputElement || input instanceof HTMLTextAreaElement) ?? null;
  }

  private set(address: string): void {
    if (this.isList) this.input.dispatchEvent(new CustomEvent("chip-add", { detail: address }));
    else change(this.input, address);
  }

  private show(): void {
    if (this.isList) return this.showList();
    const picture = this.field.querySelector<HTMLImageElement>("[data-image-picture]")!;
    const url = previewOf(this.form, this.input.value);
    picture.hidden = !url;
    if (url && picture.getAttribute("src") !== url) picture.src = url;
    this.field.querySelector("[data-image-address]")!.textContent = this.input.value;
    this.remove!.hidden = !this.input.value;
  }

  private showList(): void {
    const images = this.input.value.split("\n").map((address) => [address, previewOf(this.form, address)] as const);
    const items = images.filter(([, url]) => url).map(([address, url]) => create("li", {}, create("img", { src: url, alt: address })));
    this.field.querySelector("[data-image-pictures]")!.replaceChildren(...items);
  }
}

function change(input: HTMLInputElement | HTMLTextAreaElement, value: string): void {
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
}
