/** Recognises a KubeError without importing `src/kube`; undefined for any other error. */
export function failureOf(error: unknown): { readonly reason: string; readonly typeMissing: boolean } | undefined {
  if (!(error instanceof Error) || error.name !== 'KubeError') return undefined
  return error as Error & { reason: string; typeMissing: boolean }
}
