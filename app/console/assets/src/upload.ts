// Images of the draft of a page: uploads, and the URLs of their bytes. The form of the editor names the URLs.
import { toast } from "./dom.ts";
import { text } from "./texts.ts";

export interface UploadedImage {
  path: string;
  url: string;
  preview: string;
  alt: string;
}

/** Return the images of a paste or a drop. */
export function imagesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])].filter((file) => file.type.startsWith("image/"));
}

/** Return whether an editor or a field accepts images. */
export function acceptsImages(element: HTMLElement): boolean {
  return formOf(element) !== null;
}

/** Return the URL of the service for the images of a page. */
export function imagesUrl(element: HTMLElement): string {
  return formOf(element)!.dataset.imagesUrl!;
}

/** Return the URL of the bytes of an image by its address in the page, if it is known. */
export function previewOf(element: HTMLElement, address: string): string | undefined {
  const form = formOf(element);
  return form ? previews(form)[address] : undefined;
}

/** Remember the URL of the bytes of an image. */
export function addPreview(element: HTMLElement, address: string, url: string): void {
  const form = formOf(element)!;
  form.dataset.images = JSON.stringify({ ...previews(form), [address]: url });
}

/** Upload an image for a field or for the text. Return its address and a description by its name, or null after a failure that was shown. */
export async function upload(element: HTMLElement, file: File, show: (message: string) => void = toast, field = ""): Promise<UploadedImage | null> {
  const body = new FormData();
  body.append("image", file, file.name || "image.png");
  body.append("field", field);
  show(text("Uploading {name} …", { name: file.name }));
  let response: Response;
  try {
    response = await fetch(imagesUrl(element), { method: "POST", body, headers: { Accept: "application/json" } });
  } catch {
    show(`${text("The image was not uploaded.")} ${text("The service does not respond. Your text is still here.")}`);
    return null;
  }
  const result = await response.json().catch(() => ({}));
  if (!response.ok) {
    show(`${text("The image was not uploaded.")} ${reasonOf(response.status, result)}`);
    return null;
  }
  show(text("The image is part of the site after the next save."));
  addPreview(element, result.url, result.preview);
  return { ...result, alt: file.name.replace(/\.\w+$/, "").replace(/[-_]+/g, " ") };
}

function formOf(element: HTMLElement): HTMLElement | null {
  return element.closest<HTMLElement>("form[data-images-url]");
}

function previews(form: HTMLElement): Record<string, string> {
  return JSON.parse(form.dataset.images || "{}");
}

/** Return the message for the file if the response has one, else that of the response. A proxy that refuses a large file has none. */
function reasonOf(status: number, result: { message?: string; errorMessage?: { message: string }[] }): string {
  if (status === 401) return text("Your session has ended. Your text is still here.");
  return result.errorMessage?.[0]?.message ?? (status === 413 ? text("The image is too large.") : (result.message ?? ""));
}
