import { namesRule } from './mapRules.ts'

const RESERVED_PREFIXES = ['freehold.dev/', 'kubernetes.io/']
const KEY = /^[A-Za-z0-9 _.:/=+@-]{1,128}$/

/** As the records have it; which keys the rule below admits. */
export function isTagKey(key: string): boolean {
  return KEY.test(key) && !key.includes('.k8s.io/') && !RESERVED_PREFIXES.some((prefix) => key.startsWith(prefix))
}

/** The rule over `spec.tags` that every kind with tags carries (records: names, tags, values). */
export const tagKeyRule = namesRule('tags', {
  cel: `k.matches('^[A-Za-z0-9 _.:/=+@-]{1,128}$') && !k.contains('.k8s.io/') && !k.startsWith('freehold.dev/') && !k.startsWith('kubernetes.io/')`,
  message:
    'a tag key must have 1 to 128 letters, digits, spaces or _.:/=+@-, and must not begin with freehold.dev/ or kubernetes.io/ nor contain .k8s.io/',
  test: isTagKey,
})
