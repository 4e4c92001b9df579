import { calcPrice } from "@pydantic/genai-prices";

/** The context window that the price book has for a model of one of its providers; null: none. */
export function bookWindow(provider: string, model: string): number | null {
  try {
    return calcPrice({}, model, { providerId: provider })?.model.context_window ?? null;
  } catch {
    return null;
  }
}
