/** What the API server refused, without the room of its client; undefined for an error of ours. */
export function failureOf(error: unknown): { readonly reason: string; readonly typeMissing: boolean } | undefined {
  if (!(error instanceof Error) || error.name !== 'KubeError') return undefined
  return error as Error & { reason: string; typeMissing: boolean }
}
