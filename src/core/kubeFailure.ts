/** Recognises an error of the API server where `src/kube` may not be imported; undefined for any other error. */
export function kubeFailureOf(error: unknown): { readonly reason: string } | undefined {
  if (!(error instanceof Error) || error.name !== 'KubeError') return undefined
  return error as Error & { reason: string }
}

/** For `catch` of a read: returns undefined if the object does not exist. Rethrows if its type is not served. */
export function absent(error: unknown): undefined {
  if (kubeFailureOf(error)?.reason !== 'NotFound') throw error
}
