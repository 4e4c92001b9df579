/** Model ids of a local server's `/v1/models`; null when nothing, or nothing of the kind, answers. Only asked at start. */
export async function probeModels(url: string): Promise<string[] | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1_000) });
    const body: unknown = response.ok ? await response.json() : null;
    if (typeof body !== "object" || body === null || !("data" in body) || !Array.isArray(body.data)) return null;
    return body.data.flatMap((model: unknown) =>
      typeof model === "object" && model !== null && "id" in model && typeof model.id === "string" ? [model.id] : [],
    );
  } catch {
    return null;
  }
}
