import { SYSTEM_NAMESPACE } from '../../core/names.ts'

/** Suffix of an assignment's id for the platform's group with the same id. */
export const PLATFORM_SUFFIX = '#platform'

export function groupId(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

/** Returns the ids of a group's member or a deny's exclusion: a person, a group of the namespace or of the platform. */
export function memberKeys(namespace: string, id: string): string[] {
  const own = [id, groupId(namespace, id)]
  return namespace === SYSTEM_NAMESPACE ? own : [...own, groupId(SYSTEM_NAMESPACE, id)]
}

/** Returns the ids under which the evaluator knows a principal, each with a suffix for the id of its record. */
export function subjectKeys(type: string, id: string, namespace = ''): [suffix: string, id: string][] {
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
