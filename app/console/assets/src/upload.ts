// Upload of images into the repository. The page names the URL in `data-upload-url` of the editor.
import { text } from "./texts.ts";
import { toast } from "./dom.ts";

/** Return the images of a paste or a drop. */
export function imagesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])].filter((file) => file.type.startsWith("image/"));
}

/** Return whether an editor accepts images. */
export function acceptsImages(element: HTMLElement): boolean {
  return Boolean(element.dataset.uploadUrl);
}

/** Upload an image and return its address and a description by its name, or null after a failure that was shown. */
export async function upload(element: HTMLElement, file: File, show: (message: string) => void = toast): Promise<{ url: string; alt: string } | null> {
  const body = new FormData();
  body.append("file", file, file.name || "image.png");
  body.append("path", element.dataset.path ?? "");
  show(text("Uploading {name} …", { name: file.name }));
  let response: Response;
  try {
    response = await fetch(element.dataset.uploadUrl!, { method: "POST", body, headers: { Accept: "application/json" } });
  } catch {
    show(`${text("The image was not uploaded.")} ${text("The service does not respond. Your text is still here.")}`);
    return null;
  }
  const result = await response.json().catch(() => ({}));
  if (!response.ok) {
    const reason = response.status === 413 ? text("The image is too large.") : response.status === 401 ? text("Your session has ended. Your text is still here.") : reasonOf(result);
    show(`${text("The image was not uploaded.")} ${reason}`);
    return null;
  }
  show(text("Image uploaded"));
  return { url: result.url, alt: file.name.replace(/\.\w+$/, "").replace(/[-_]+/g, " ") };
}

/** Return the message for the file if the response has one, else the message of the response. */
function reasonOf(result: { message?: string; errorMessage?: { message: string }[] }): string {
  return result.errorMessage?.[0]?.message ?? result.message ?? "";
}
