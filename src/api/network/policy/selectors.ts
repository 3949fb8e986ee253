/** A label selector of Kubernetes (meta/v1 LabelSelector). */
export type Selector = {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined
  readonly matchExpressions?:
    | readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] | undefined }[]
    | undefined
}

export type Labels = Readonly<Record<string, string>>

/** Returns whether a selector matches labels; an empty one matches all. An unknown operator matches nothing. */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labelOf: (key: string) => string | undefined,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labelOf(key)
      if (operator === 'Exists') return value !== undefined
      if (operator === 'DoesNotExist') return value === undefined
      if (operator === 'In') return value !== undefined && values.includes(value)
      // NotIn also matches objects without the label.
      return operator === 'NotIn' && (value === undefined || !values.includes(value))
    })
  )
}

export function selectorMatchesLabels(selector: Selector, labels: Labels): boolean {
  return selects(selector, (key) => (Object.hasOwn(labels, key) ? labels[key] : undefined))
}

/** Returns whether a selector uses a label that satisfies the predicate. */
export function usesLabel({ matchLabels = {}, matchExpressions = [] }: Selector, isMeant: (key: string) => boolean) {
  return Object.keys(matchLabels).some(isMeant) || matchExpressions.some(({ key }) => isMeant(key))
}
