import { mapKeysRule } from './mapRules.ts'

const RESERVED_PREFIXES = ['freehold.dev/', 'kubernetes.io/']
/** For use within a pattern. */
export const TAG_KEY = '[A-Za-z0-9 _.:/=+@-]{1,128}'
const KEY = new RegExp(`^${TAG_KEY}$`)

/** Whether the records, and the rule below, admit the key. */
export function isTagKey(key: string): boolean {
  return KEY.test(key) && !key.includes('.k8s.io/') && !RESERVED_PREFIXES.some((prefix) => key.startsWith(prefix))
}

/** The rule over `spec.tags` of every kind with tags (records: names, tags, values). */
export const tagKeyRule = mapKeysRule('tags', {
  cel: `k.matches('^${TAG_KEY}$') && !k.contains('.k8s.io/') && !k.startsWith('freehold.dev/') && !k.startsWith('kubernetes.io/')`,
  message:
    'a tag key must have 1 to 128 letters, digits, spaces or _.:/=+@-, and must not begin with freehold.dev/ or kubernetes.io/ nor contain .k8s.io/',
  test: isTagKey,
})
