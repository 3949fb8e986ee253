import { SYSTEM_NAMESPACE } from '../../core/names.ts'

/** Suffix of an assignment's id for the platform's group with the same id. */
export const PLATFORM_SUFFIX = '#platform'

export function groupId(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

/** A group's member or a deny's exclusion: a person, a group of the same namespace, or one of the platform. */
export function asMember(namespace: string, id: string): string[] {
  const own = [id, groupId(namespace, id)]
  return namespace === SYSTEM_NAMESPACE ? own : [...own, groupId(SYSTEM_NAMESPACE, id)]
}

/** Under which ids the evaluator knows a principal, each with the suffix of the record that is made for it. */
export function subjects(type: string, id: string, namespace = ''): [suffix: string, id: string][] {
  if (type !== 'Group') return [['', id]]
  const own = groupId(namespace, id)
  const platform = groupId(SYSTEM_NAMESPACE, id)
  return platform === own
    ? [['', own]]
    : [
        ['', own],
        [PLATFORM_SUFFIX, platform],
      ]
}
