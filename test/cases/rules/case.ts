import type { AnyKind } from '../../../src/crds/define.ts'

/**
 * Specs that rules admit or refuse. The unit tests evaluate the facade's rules, the end-to-end tests send the same
 * specs to the API server; the messages must be equal.
 */
export type RuleCase = {
  name: string
  kind: AnyKind
  previous?: object
  next: object
  /** Messages of the rules that refuse; none when the write is admitted. */
  refused: readonly string[]
}

export const TAGS =
  'a tag key must have 1 to 128 letters, digits, spaces or _.:/=+@-, and must not begin with freehold.dev/ or kubernetes.io/ nor contain .k8s.io/'

export const CIDRS =
  'allowedCidrs must be a comma-separated list of at most 50 canonical networks, such as 203.0.113.0/24,2001:db8::/32'

export const SHRINK = 'storageSize may grow but not shrink: volumes cannot give space back'

export const fixed = (field: string) => `${field} cannot be changed after creation`

export function cases<K extends AnyKind>(
  kind: K,
  base: object,
  list: [name: string, previous: object | undefined, next: object, ...refused: string[]][],
): RuleCase[] {
  const full = (spec: object) => kind.spec.parse({ ...base, ...spec }) as object
  return list.map(([name, previous, next, ...refused]) => ({
    name: `${kind.kind} ${refused.length === 0 ? 'admits' : 'refuses'} ${name}`,
    kind,
    ...(previous === undefined ? {} : { previous: full(previous) }),
    next: full(next),
    refused,
  }))
}

export const ID = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'

export const OTHER = '8c1d6e7f-2a3b-4c4d-9e5f-6a7b8c9d0e1f'

export const THIRD = '9d2e7f80-3b4c-4d5e-8f60-718293a4b5c6'
