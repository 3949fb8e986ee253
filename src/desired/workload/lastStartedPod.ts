/** Returns the pod that Kubernetes started last. */
export function lastStartedPod<Pod extends { status?: { startTime?: string } | undefined }>(
  pods: readonly Pod[],
): Pod | undefined {
  const startOf = ({ status }: Pod) => status?.startTime ?? ''
  return pods.toSorted((one, other) => startOf(one).localeCompare(startOf(other))).at(-1)
}
