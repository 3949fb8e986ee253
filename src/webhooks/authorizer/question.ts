import { type ActionName, isKnownAction } from '../../core/actions.ts'
import { isResourceName, isUuid, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { resourceId } from '../../core/object.ts'
import { formatScope, parseScope, ROOT_SCOPE, type Scope } from '../../core/scope.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS, RESOURCE_KINDS } from '../../crds/index.ts'
import { RoleDefinition } from '../../crds/rbac.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { actionsInPlatform, actionsOfKinds, gatherKubernetesForms } from '../../iam/kubernetesForm.ts'
import { actionsInsidePod, type OwnerOfPod } from './podAccess.ts'

/** The part of a SubjectAccessReview (authorization.k8s.io/v1) that is asked about. */
export type ReviewedRequest = {
  readonly user?: string | undefined
  readonly resourceAttributes?:
    | {
        readonly namespace?: string | undefined
        readonly verb?: string | undefined
        readonly group?: string | undefined
        readonly resource?: string | undefined
        readonly subresource?: string | undefined
        readonly name?: string | undefined
      }
    | undefined
}

/** The owner of the namespace; undefined if it is not one of the platform's. */
export type PlaceOfNamespace = (
  namespace: string,
) => { readonly boundaryId: string; readonly resourceGroup?: string } | undefined

/** The name of the resource that an object is a part of; undefined if the object is not known. */
export type OwnerOfPart = (kind: AnyKind, namespace: string, name: string) => string | undefined

/** What the evaluator is to be asked, or why it is not. */
export type Question =
  | {
      readonly asks: 'evaluator'
      readonly principalId: string
      readonly action: ActionName
      readonly scope: string
      /** A list, a watch or a delete of a collection: the action is needed everywhere below the scope too. */
      readonly isOfAll: boolean
      /** Where one of these is denied below the scope, something is among the objects that the principal may not see. */
      readonly shows?: readonly ActionName[]
      /** More that must be held, for a request that does what several of REST do. */
      readonly also?: readonly { readonly action: ActionName; readonly scope: string }[]
    }
  /** Whether the principal may give the role of this display name at the scope: the virtual verb `grant`. */
  | { readonly asks: 'grant'; readonly principalId: string; readonly roleName: string; readonly scope: string }
  | { readonly asks: 'nothing'; readonly isAllowed: boolean; readonly reason: string }

const FORMS = gatherKubernetesForms(actionsOfKinds(KINDS))
const PLATFORM_FORMS = gatherKubernetesForms(actionsInPlatform(KINDS))
/** Only authorizers are asked about it, by the admission policy over assignments. */
const GRANT = 'grant'
const KIND_BY_RESOURCE: ReadonlyMap<string, AnyKind> = new Map(
  KINDS.map((kind) => [`${kind.resource.group}/${kind.resource.plural}`, kind]),
)

/** What Kubernetes' own objects of a group show something of. */
const READS_OF_RESOURCES: readonly ActionName[] = RESOURCE_KINDS.map(({ actions }) => `${actions}/read`).filter(
  isKnownAction,
)

const READS: readonly string[] = ['get', 'list', 'watch']
/** Of Kubernetes' own kinds, what readers of a group see in its namespace: how their resources run. */
const READ_IN_GROUPS = new Set(['/pods', '/services', '/events', 'events.k8s.io/events'])
/** In a boundary's own namespace: what is told about its groups. */
const READ_IN_BOUNDARIES = new Set(['/events', 'events.k8s.io/events'])

const nothing = (reason: string): Question => ({ asks: 'nothing', isAllowed: false, reason })

/**
 * The principal behind a user name of the API server, which puts `p:` before the subject of a token: a person, a service
 * account of the platform or a managed identity. Accounts of Kubernetes itself (`system:serviceaccount:...`) sign in
 * with no token of the platform; REST does not know them, and so they are nobody here either.
 */
export function principalOfUser(user: string | undefined): string | undefined {
  const id = user?.startsWith('p:') ? user.slice('p:'.length) : ''
  return isUuid(id) ? id : undefined
}

/** Who pays for a question: a principal, or the namespace of a tenant for all its service accounts; else nobody. */
export function tenantOf(user: string, placeOf: PlaceOfNamespace): string | undefined {
  if (principalOfUser(user) !== undefined) return user
  const [system, kind, namespace] = user.split(':')
  if (system !== 'system' || kind !== 'serviceaccount' || namespace === undefined) return undefined
  return placeOf(namespace) === undefined ? undefined : `system:serviceaccount:${namespace}`
}

/**
 * Reads a request to the API server as a question of authorization: an action at the scope that the namespace and the
 * name spell. Pure; what is not ours, and whoever is not a principal, is left to the authorizers that come after.
 */
export function questionOf(
  { user, resourceAttributes }: ReviewedRequest,
  placeOf: PlaceOfNamespace,
  ownerOf: OwnerOfPod,
  ownerOfPart: OwnerOfPart = () => undefined,
): Question {
  const principalId = principalOfUser(user)
  if (principalId === undefined) return nothing('The caller is not a principal of the platform.')
  const { namespace = '', verb = '', group = '', resource = '', subresource = '', name = '' } = resourceAttributes ?? {}
  // Who reads the status alone is given the whole object.
  const isWhole = subresource === '' || (subresource === 'status' && verb === 'get')
  const whole = isWhole ? resource : `${resource}/${subresource}`
  const kind = KIND_BY_RESOURCE.get(`${group}/${resource}`)
  if (`${group}/${resource}` === '/pods' && subresource !== '')
    return insidePod(principalId, { subresource, verb, namespace, name }, placeOf, ownerOf)
  if (kind === undefined) return readOfCore(principalId, { id: `${group}/${whole}`, verb, namespace, name }, placeOf)
  if (isWhole && kind.open?.includes(verb)) {
    return { asks: 'nothing', isAllowed: true, reason: 'Any signed-in caller may.' }
  }
  if (kind === RoleDefinition && verb === GRANT)
    return grantOf(principalId, { roleName: name, namespace, at: subresource }, placeOf)
  const forms = namespace === SYSTEM_NAMESPACE ? PLATFORM_FORMS : FORMS
  const action = forms.actionOf(group, whole, verb)
  const what = `${verb} on ${resourceId({ ...kind.resource, plural: whole })}`
  if (action === undefined) return nothing(`${what} is not an action of the platform; the REST interface may have it.`)
  const named = nameOfResource(kind, { namespace, name }, ownerOfPart)
  const isList = name === '' && READS.includes(verb)
  const scope = scopeOf(kind, namespace, named, placeOf, isList)
  if (typeof scope === 'string') return nothing(scope)
  // A part that nobody knows may be of any resource: then the action is needed at all of them.
  return {
    asks: 'evaluator',
    principalId,
    action,
    scope: formatScope(scope),
    isOfAll: (named === '' || kind.spansGroups === true) && verb !== 'create',
  }
}

/** The name of the resource that an object is, or is a part of; empty for none in particular. */
function nameOfResource(
  kind: AnyKind,
  { namespace, name }: { namespace: string; name: string },
  ownerOfPart: OwnerOfPart,
): string {
  const { partOf } = kind
  if (partOf === undefined || name === '') return name
  // A name that no part can have is refused as one.
  if ('nameOf' in partOf) return partOf.nameOf(name) ?? NOT_A_NAME
  return ownerOfPart(kind, namespace, name) ?? ''
}

type Grant = {
  roleName: string
  namespace: string
  /** `<collection>/<name>` of the resource of the group that it is for; empty for all of the namespace. */
  at: string
}

function grantOf(principalId: string, { roleName, namespace, at }: Grant, placeOf: PlaceOfNamespace): Question {
  if (roleName === '') return nothing('Name the role to give.')
  const asked = (scope: Scope): Question => ({ asks: 'grant', principalId, roleName, scope: formatScope(scope) })
  if (namespace === SYSTEM_NAMESPACE && at === '') return asked(ROOT_SCOPE)
  const place = placeOf(namespace)
  if (place === undefined) return nothing(`Roles are given in boundaries, their groups and ${SYSTEM_NAMESPACE}.`)
  const { boundaryId, resourceGroup } = place
  const scope = parseScope(
    [
      `/boundaries/${boundaryId}`,
      ...(resourceGroup === undefined ? [] : [`resourcegroups/${resourceGroup}`]),
      ...(at === '' ? [] : [`resources/${at}`]),
    ].join('/'),
  )
  return scope === undefined ? nothing(`"${at}" is not a resource of the namespace.`) : asked(scope)
}

type PodRequest = { subresource: string; verb: string; namespace: string; name: string }

/** Asked at the resource whose pod it is, as REST asks for its logs and files. */
function insidePod(
  principalId: string,
  { subresource, verb, namespace, name }: PodRequest,
  placeOf: PlaceOfNamespace,
  ownerOf: OwnerOfPod,
): Question {
  const owner = ownerOf(namespace, name)
  const kind = KINDS.find((one) => one.kind === owner?.kind && one.placement === 'group' && one.partOf === undefined)
  const actions = kind && actionsInsidePod(kind, subresource, verb)
  if (owner === undefined || kind === undefined || actions === undefined)
    return nothing(`The platform gives no access to ${subresource} of this pod.`)
  const scope = scopeOf(kind, namespace, owner.name, placeOf)
  const [action, ...further] = actions
  if (typeof scope === 'string' || action === undefined || scope.level !== 'resource') return nothing(String(scope))
  const seen = subresource === 'log' ? [] : (owner.sees ?? [])
  const also = [
    ...further.map((one) => ({ action: one, scope: formatScope(scope) })),
    ...seen.map((right) => ({
      action: right.action,
      scope: formatScope(
        'collection' in right
          ? { ...scope, collection: right.collection, name: right.name }
          : { level: 'resourceGroup', boundaryId: scope.boundaryId, resourceGroup: scope.resourceGroup },
      ),
    })),
  ]
  return {
    asks: 'evaluator',
    principalId,
    action,
    scope: formatScope(scope),
    isOfAll: false,
    ...(also.length > 0 && { also }),
  }
}

type CoreRequest = { id: string; verb: string; namespace: string; name: string }

function readOfCore(principalId: string, request: CoreRequest, placeOf: PlaceOfNamespace): Question {
  const place = placeOf(request.namespace)
  const readable = place?.resourceGroup === undefined ? READ_IN_BOUNDARIES : READ_IN_GROUPS
  if (place === undefined || !READS.includes(request.verb) || !readable.has(request.id))
    return nothing('The platform gives no right to this.')
  const { boundaryId, resourceGroup } = place
  const scope: Scope =
    resourceGroup === undefined
      ? { level: 'boundary', boundaryId }
      : { level: 'resourceGroup', boundaryId, resourceGroup }
  // Of all, even where one is named: a pod's name does not say which resource's it is, and one of them may be denied.
  return {
    asks: 'evaluator',
    principalId,
    action: 'resourcegroups/read',
    scope: formatScope(scope),
    isOfAll: true,
    // Events of a boundary tell of its groups alone.
    ...(resourceGroup !== undefined && { shows: READS_OF_RESOURCES }),
  }
}

/**
 * The scope of an object, or of the collection if no name is given; a sentence if there is none.
 *
 * @param isList whether it is only listed, as `kubectl get freehold` does with all kinds: then nothing is there of those that
 * cannot stand in the namespace
 */
function scopeOf(
  kind: AnyKind,
  namespace: string,
  name: string,
  placeOf: PlaceOfNamespace,
  isList = false,
): Scope | string {
  if (kind.placement === 'cluster') {
    if (kind.kind !== Boundary.kind) return ROOT_SCOPE
    if (isUuid(name)) return { level: 'boundary', boundaryId: name }
    return name === '' ? NO_LIST : 'The name of a boundary is a uuid.'
  }
  if (namespace === '') return CLUSTER_WIDE
  if (namespace === SYSTEM_NAMESPACE) return ROOT_SCOPE
  const place = placeOf(namespace)
  if (place === undefined) return `Namespace "${namespace}" belongs to no boundary.`
  const { boundaryId, resourceGroup } = place
  if (!isList && (kind.placement === 'group') !== (resourceGroup !== undefined))
    return `${kind.kind} objects do not belong in namespace "${namespace}".`
  if (resourceGroup === undefined) {
    if (kind.kind !== ResourceGroup.kind || name === '') return { level: 'boundary', boundaryId }
    return isResourceName(name) ? { level: 'resourceGroup', boundaryId, resourceGroup: name } : NO_NAME
  }
  if (name === '') return { level: 'resourceGroup', boundaryId, resourceGroup }
  return scopeOfResource(kind, { boundaryId, resourceGroup }, name)
}

/** An object that belongs to a resource is asked about at that resource. */
function scopeOfResource(
  { segment, partOf }: AnyKind,
  place: { boundaryId: string; resourceGroup: string },
  name = '',
): Scope | string {
  if (!isResourceName(name)) return NO_NAME
  return { level: 'resource', ...place, collection: partOf?.collection ?? segment, name }
}

const NOT_A_NAME = '!'
const NO_NAME = 'The name is not a valid resource name.'
const NO_LIST = 'Boundaries are listed by the REST interface only; name one by its id.'
const CLUSTER_WIDE = 'Lists over the whole cluster exist in the REST interface only; name a namespace with -n.'
