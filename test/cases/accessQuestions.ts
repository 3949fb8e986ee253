import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'

/** One question in the words of both interfaces. */
export type AccessQuestion = {
  boundaryId: string
  /** As REST's checkAccess asks it. */
  action: string
  scope: string
  /** As the API server asks it. */
  attributes: {
    verb: string
    group: string
    resource: string
    subresource?: string
    namespace?: string
    name?: string
  }
}

export type AskedGroup = { name: string; databases: readonly string[] }

/**
 * Every object of a boundary with every verb, written out by hand instead of derived from the kinds' declarations,
 * which could lead both interfaces into the same mistake.
 */
export function questionsAbout(boundaryId: string, groups: readonly AskedGroup[]): AccessQuestion[] {
  const scope = `/boundaries/${boundaryId}`
  const namespace = boundaryNamespace(boundaryId)
  const named = { group: 'freehold.dev', resource: 'boundaries', name: boundaryId }
  const member = { group: 'iam.freehold.dev', namespace }
  const groupsHere = { group: 'freehold.dev', resource: 'resourcegroups', namespace }
  const own: [string, AccessQuestion['attributes']][] = [
    ['boundaries/read', { ...named, verb: 'get' }],
    ['boundaries/read', { ...named, verb: 'watch' }],
    ['boundaries/manage', { ...named, verb: 'patch' }],
    ['boundaries/manage', { ...named, verb: 'update' }],
    ['rbac/members/read', { ...member, resource: 'roleassignments', verb: 'list' }],
    ['rbac/members/read', { ...member, resource: 'principalgroups', verb: 'get', name: boundaryId }],
    ...questionsAboutMembers(member),
    ['resourcegroups/read', { ...groupsHere, verb: 'list' }],
    ['resourcegroups/write', { ...groupsHere, verb: 'create' }],
    ['resourcegroups/read', { group: 'events.k8s.io', resource: 'events', namespace, verb: 'list' }],
  ]
  return [
    ...own.map(([action, attributes]) => ({ boundaryId, action, scope, attributes })),
    ...groups.flatMap((group) => questionsAboutGroup(boundaryId, group)),
  ]
}

/** Writes of access control, which admission then decides in detail. */
function questionsAboutMembers(member: { group: string; namespace: string }): [string, AccessQuestion['attributes']][] {
  const written: [resource: string, action: string][] = [
    ['roleassignments', 'boundaries/members/manage'],
    ['denyassignments', 'rbac/members/write'],
    ['principalgroups', 'rbac/members/write'],
  ]
  const named = { ...member, name: 'any' }
  return [
    ...written.flatMap(([resource, action]): [string, AccessQuestion['attributes']][] => [
      [action, { ...member, resource, verb: 'create' }],
      [action, { ...named, resource, verb: 'update' }],
      [action, { ...named, resource, verb: 'patch' }],
      [action, { ...named, resource, verb: 'delete' }],
      [action, { ...member, resource, verb: 'deletecollection' }],
      ['rbac/members/read', { ...named, resource, verb: 'get' }],
      ['rbac/members/read', { ...member, resource, verb: 'watch' }],
    ]),
    ['boundaries/read', { ...member, resource: 'jitrequests', verb: 'create' }],
    ['boundaries/read', { ...named, resource: 'jitrequests', verb: 'delete' }],
    ['rbac/members/read', { ...member, resource: 'jitrequests', verb: 'list' }],
  ]
}

function questionsAboutGroup(boundaryId: string, { name, databases }: AskedGroup): AccessQuestion[] {
  const scope = `/boundaries/${boundaryId}/resourcegroups/${name}`
  const group = { group: 'freehold.dev', resource: 'resourcegroups', namespace: boundaryNamespace(boundaryId), name }
  const namespace = groupNamespace(boundaryId, name)
  const vector = { group: 'data.freehold.dev', resource: 'vectorclusters', namespace }
  const own: [string, AccessQuestion['attributes']][] = [
    ['resourcegroups/read', { ...group, verb: 'get' }],
    ['resourcegroups/write', { ...group, verb: 'patch' }],
    ['resourcegroups/delete', { ...group, verb: 'delete' }],
    ['resourcegroups/read', { group: '', resource: 'pods', namespace, verb: 'list' }],
    ['resourcegroups/read', { group: '', resource: 'services', namespace, verb: 'watch' }],
    ['resourcegroups/read', { group: '', resource: 'events', namespace, verb: 'get', name: 'any' }],
    ['vectorcluster/read', { ...vector, verb: 'list' }],
    ['vectorcluster/read', { ...vector, verb: 'watch' }],
    ['vectorcluster/write', { ...vector, verb: 'create' }],
    ['vectorcluster/delete', { ...vector, verb: 'deletecollection' }],
  ]
  const ofDatabase = (database: string) => {
    const one = { ...vector, name: database }
    const verbs: [string, AccessQuestion['attributes']][] = [
      ['vectorcluster/read', { ...one, verb: 'get' }],
      ['vectorcluster/write', { ...one, verb: 'update' }],
      ['vectorcluster/write', { ...one, verb: 'patch' }],
      ['vectorcluster/delete', { ...one, verb: 'delete' }],
      ['vectorcluster/read', { ...one, subresource: 'scale', verb: 'get' }],
      ['vectorcluster/scale', { ...one, subresource: 'scale', verb: 'patch' }],
      ['vectorcluster/readSecrets', { ...one, verb: 'readsecrets' }],
      ['vectorcluster/writeSecrets', { ...one, verb: 'writesecrets' }],
    ]
    const at = `${scope}/resources/vectorclusters/${database}`
    return verbs.map(([action, attributes]) => ({ boundaryId, action, scope: at, attributes }))
  }
  return [
    ...own.map(([action, attributes]) => ({ boundaryId, action, scope, attributes })),
    ...databases.flatMap(ofDatabase),
  ]
}
