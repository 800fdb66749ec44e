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

/** Upload an image and return the address to write into the text, or null after a failure that was shown. */
export async function upload(element: HTMLElement, file: File): Promise<{ url: string; alt: string } | null> {
  const body = new FormData();
  body.append("file", file, file.name || "image.png");
  body.append("path", element.dataset.path ?? "");
  toast(text("Uploading {name} …", { name: file.name }));
  try {
    const response = await fetch(element.dataset.uploadUrl!, { method: "POST", body, headers: { Accept: "application/json" } });
    const result = await response.json();
    if (!response.ok) throw new Error(result.message);
    toast(text("Image uploaded"));
    return { url: result.url, alt: file.name.replace(/\.\w+$/, "").replace(/[-_]+/g, " ") };
  } catch (error) {
    const reason = error instanceof Error && !(error instanceof TypeError) && !(error instanceof SyntaxError) ? error.message : "";
    toast(`${text("The image was not uploaded.")} ${reason}`);
    return null;
  }
}
