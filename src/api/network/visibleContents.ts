import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import type { GroupResource } from '../resources/contents.ts'

/** The content of a boundary that the caller may see, found by name: a boundary holds thousands of resources. */

export type Group = { readonly name: string; readonly namespace: string }
export type Labels = Readonly<Record<string, string>> | undefined

export type VisibleContents = {
  readonly groups: readonly Group[]
  readonly resources: readonly GroupResource[]
  groupOfNamespace(namespace: string | undefined): Group | undefined
  /** Returns the resource of the group that these labels of a pod or a policy name. */
  ownerIn(group: Group, labels: Labels): GroupResource | undefined
  /** Whether they name a resource of the group that the caller may not see. */
  isHiddenIn(group: Group, labels: Labels): boolean
  findResource(group: string, collection: string, name: string): GroupResource | undefined
}

/** @param hidden resources of the same groups that the caller may not see */
export function visibleContents(given: {
  groups: readonly Group[]
  resources: readonly GroupResource[]
  hidden: readonly GroupResource[]
}): VisibleContents {
  const { groups, resources, hidden } = given
  const byNamespace = new Map(groups.map((group) => [group.namespace, group]))
  const byKind = new Map(resources.map((each) => [kindKey(each), each]))
  const bySegment = new Map(
    resources.map((each) => [key(each.resourceGroup, each.kind.segment, each.object.metadata.name), each]),
  )
  const hiddenKeys = new Set(hidden.map(kindKey))
  const labelKey = (group: Group, labels: Labels) =>
    key(group.name, labels?.[OWNER_KIND_LABEL] ?? '', labels?.[OWNER_NAME_LABEL] ?? '')
  return {
    groups,
    resources,
    groupOfNamespace: (namespace) => byNamespace.get(namespace ?? ''),
    ownerIn: (group, labels) => byKind.get(labelKey(group, labels)),
    isHiddenIn: (group, labels) => hiddenKeys.has(labelKey(group, labels)),
    findResource: (group, collection, name) => bySegment.get(key(group, collection, name)),
  }
}

/** No part of a key contains a slash. */
const key = (...parts: readonly string[]) => parts.join('/')
const kindKey = ({ kind, object, resourceGroup }: GroupResource) => key(resourceGroup, kind.kind, object.metadata.name)
