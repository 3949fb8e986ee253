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

/** The fields of a SubjectAccessReview (authorization.k8s.io/v1) that are read. */
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

/** Returns the boundary and group that own a namespace; undefined if it is not a namespace of the platform. */
export type ScopeOfNamespace = (
  namespace: string,
) => { readonly boundaryId: string; readonly resourceGroup?: string } | undefined

/** Returns the name of the resource that an object is part of; undefined if the object is unknown. */
export type OwnerOfPart = (kind: AnyKind, namespace: string, name: string) => string | undefined

/** What to ask the evaluator, or why it is not asked. */
export type ReviewQuestion =
  | {
      readonly asks: 'evaluator'
      readonly principalId: string
      readonly action: ActionName
      readonly scope: string
      /** For a list, a watch or a deletecollection: the action is needed everywhere below the scope too. */
      readonly isOfAll: boolean
      /** If one of these is denied below the scope, the result could contain objects that the principal may not see. */
      readonly shows?: readonly ActionName[]
      /** More that must be held, for a request that corresponds to several actions of REST. */
      readonly alsoRequired?: readonly { readonly action: ActionName; readonly scope: string }[]
    }
  /** For the virtual verb `grant`: whether the principal may grant the role of this display name at the scope. */
  | { readonly asks: 'grant'; readonly principalId: string; readonly roleName: string; readonly scope: string }
  | { readonly asks: 'nothing'; readonly isAllowed: boolean; readonly reason: string }

const FORMS = gatherKubernetesForms(actionsOfKinds(KINDS))
const PLATFORM_FORMS = gatherKubernetesForms(actionsInPlatform(KINDS))
/** Only asked by the admission policy for assignments. */
const GRANT = 'grant'
const KIND_BY_RESOURCE: ReadonlyMap<string, AnyKind> = new Map(
  KINDS.map((kind) => [`${kind.resource.group}/${kind.resource.plural}`, kind]),
)

/** The reads of the resources that built-in objects in a group reveal something about. */
const READS_OF_RESOURCES: readonly ActionName[] = RESOURCE_KINDS.map(({ actions }) => `${actions}/read`).filter(
  isKnownAction,
)

const READS: readonly string[] = ['get', 'list', 'watch']
/** Built-in kinds that readers of a group see in its namespace: how their resources run. */
const READ_IN_GROUPS = new Set(['/pods', '/services', '/events', 'events.k8s.io/events'])
/** Built-in kinds that are readable in a boundary's own namespace: events about its groups. */
const READ_IN_BOUNDARIES = new Set(['/events', 'events.k8s.io/events'])

const nothing = (reason: string): ReviewQuestion => ({ asks: 'nothing', isAllowed: false, reason })

/**
 * Returns the principal behind a user name of the API server, which prefixes token subjects with `p:`: a person, a
 * service account of the platform or a managed identity. Kubernetes service accounts (`system:serviceaccount:...`) do
 * not sign in with a token of the platform, so they are not principals, as in REST.
 */
export function principalOfUser(user: string | undefined): string | undefined {
  const id = user?.startsWith('p:') ? user.slice('p:'.length) : ''
  return isUuid(id) ? id : undefined
}

/** Returns whose rate limit a question counts against: a principal, or a tenant namespace for its accounts. */
export function rateLimitTenantOf(user: string, scopeOfNamespace: ScopeOfNamespace): string | undefined {
  if (principalOfUser(user) !== undefined) return user
  const [system, kind, namespace] = user.split(':')
  if (system !== 'system' || kind !== 'serviceaccount' || namespace === undefined) return undefined
  return scopeOfNamespace(namespace) === undefined ? undefined : `system:serviceaccount:${namespace}`
}

/**
 * Translates a request to the API server into a question: an action at the scope that the namespace and the name stand
 * for. Pure. Requests for foreign objects or by non-principals are left to the next authorizers.
 */
export function questionOf(
  { user, resourceAttributes }: ReviewedRequest,
  scopeOfNamespace: ScopeOfNamespace,
  ownerOf: OwnerOfPod,
  ownerOfPart: OwnerOfPart = () => undefined,
): ReviewQuestion {
  const principalId = principalOfUser(user)
  if (principalId === undefined) return nothing('The caller is not a principal of the platform.')
  const { namespace = '', verb = '', group = '', resource = '', subresource = '', name = '' } = resourceAttributes ?? {}
  // Reading the status subresource returns the whole object.
  const isWhole = subresource === '' || (subresource === 'status' && verb === 'get')
  const whole = isWhole ? resource : `${resource}/${subresource}`
  const kind = KIND_BY_RESOURCE.get(`${group}/${resource}`)
  if (`${group}/${resource}` === '/pods' && subresource !== '')
    return insidePod(principalId, { subresource, verb, namespace, name }, scopeOfNamespace, ownerOf)
  if (kind === undefined)
    return readOfCore(principalId, { id: `${group}/${whole}`, verb, namespace, name }, scopeOfNamespace)
  if (isWhole && kind.open?.includes(verb)) {
    return { asks: 'nothing', isAllowed: true, reason: 'Any signed-in caller may.' }
  }
  if (kind === RoleDefinition && verb === GRANT)
    return grantOf(principalId, { roleName: name, namespace, at: subresource }, scopeOfNamespace)
  const forms = namespace === SYSTEM_NAMESPACE ? PLATFORM_FORMS : FORMS
  const action = forms.actionOf(group, whole, verb)
  const what = `${verb} on ${resourceId({ ...kind.resource, plural: whole })}`
  if (action === undefined) return nothing(`${what} is not an action of the platform; the REST interface may have it.`)
  const named = nameOfResource(kind, { namespace, name }, ownerOfPart)
  const isList = name === '' && READS.includes(verb)
  const scope = scopeOf(kind, namespace, named, scopeOfNamespace, isList)
  if (typeof scope === 'string') return nothing(scope)
  // A part whose resource is unknown could belong to any, so the action is needed at all of them.
  return {
    asks: 'evaluator',
    principalId,
    action,
    scope: formatScope(scope),
    isOfAll: (named === '' || kind.spansGroups === true) && verb !== 'create',
  }
}

/** Returns the name of the resource that the object is, or is part of; empty if none is named. */
function nameOfResource(
  kind: AnyKind,
  { namespace, name }: { namespace: string; name: string },
  ownerOfPart: OwnerOfPart,
): string {
  const { partOf } = kind
  if (partOf === undefined || name === '') return name
  // A name that no part can have must be refused as invalid.
  if ('nameOf' in partOf) return partOf.nameOf(name) ?? INVALID_NAME
  return ownerOfPart(kind, namespace, name) ?? ''
}

type Grant = {
  roleName: string
  namespace: string
  /** `<collection>/<name>` of the resource that the grant is for; empty for the whole namespace. */
  at: string
}

function grantOf(
  principalId: string,
  { roleName, namespace, at }: Grant,
  scopeOfNamespace: ScopeOfNamespace,
): ReviewQuestion {
  if (roleName === '') return nothing('Name the role to give.')
  const grantAt = (scope: Scope): ReviewQuestion => ({
    asks: 'grant',
    principalId,
    roleName,
    scope: formatScope(scope),
  })
  if (namespace === SYSTEM_NAMESPACE && at === '') return grantAt(ROOT_SCOPE)
  const namespaceScope = scopeOfNamespace(namespace)
  if (namespaceScope === undefined)
    return nothing(`Roles are given in boundaries, their groups and ${SYSTEM_NAMESPACE}.`)
  const { boundaryId, resourceGroup } = namespaceScope
  const scope = parseScope(
    [
      `/boundaries/${boundaryId}`,
      ...(resourceGroup === undefined ? [] : [`resourcegroups/${resourceGroup}`]),
      ...(at === '' ? [] : [`resources/${at}`]),
    ].join('/'),
  )
  return scope === undefined ? nothing(`"${at}" is not a resource of the namespace.`) : grantAt(scope)
}

type PodRequest = { subresource: string; verb: string; namespace: string; name: string }

/** Decided at the resource that the pod belongs to, as REST does for logs and files. */
function insidePod(
  principalId: string,
  { subresource, verb, namespace, name }: PodRequest,
  scopeOfNamespace: ScopeOfNamespace,
  ownerOf: OwnerOfPod,
): ReviewQuestion {
  const owner = ownerOf(namespace, name)
  const kind = KINDS.find((one) => one.kind === owner?.kind && one.placement === 'group' && one.partOf === undefined)
  const actions = kind && actionsInsidePod(kind, subresource, verb)
  if (owner === undefined || kind === undefined || actions === undefined)
    return nothing(`The platform gives no access to ${subresource} of this pod.`)
  const scope = scopeOf(kind, namespace, owner.name, scopeOfNamespace)
  const [action, ...further] = actions
  if (typeof scope === 'string' || action === undefined || scope.level !== 'resource') return nothing(String(scope))
  const seen = subresource === 'log' ? [] : (owner.referencedRights ?? [])
  const alsoRequired = [
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
    ...(alsoRequired.length > 0 && { alsoRequired }),
  }
}

type CoreRequest = { id: string; verb: string; namespace: string; name: string }

function readOfCore(principalId: string, request: CoreRequest, scopeOfNamespace: ScopeOfNamespace): ReviewQuestion {
  const namespaceScope = scopeOfNamespace(request.namespace)
  const readable = namespaceScope?.resourceGroup === undefined ? READ_IN_BOUNDARIES : READ_IN_GROUPS
  if (namespaceScope === undefined || !READS.includes(request.verb) || !readable.has(request.id))
    return nothing('The platform gives no right to this.')
  const { boundaryId, resourceGroup } = namespaceScope
  const scope: Scope =
    resourceGroup === undefined
      ? { level: 'boundary', boundaryId }
      : { level: 'resourceGroup', boundaryId, resourceGroup }
  // Needs the right on all objects even for a single one: its resource, which may be denied, is unknown.
  return {
    asks: 'evaluator',
    principalId,
    action: 'resourcegroups/read',
    scope: formatScope(scope),
    isOfAll: true,
    // Events in a boundary's namespace concern its groups only.
    ...(resourceGroup !== undefined && { shows: READS_OF_RESOURCES }),
  }
}

/**
 * Returns the scope of an object, or of the collection if the name is empty; a sentence if there is none.
 * @param isList whether it is only listed: `kubectl get freehold` lists all kinds in every namespace, and kinds that
 * cannot be stored there have an empty list
 */
function scopeOf(
  kind: AnyKind,
  namespace: string,
  name: string,
  scopeOfNamespace: ScopeOfNamespace,
  isList = false,
): Scope | string {
  if (kind.placement === 'cluster') {
    if (kind.kind !== Boundary.kind) return ROOT_SCOPE
    if (isUuid(name)) return { level: 'boundary', boundaryId: name }
    return name === '' ? NO_LIST : 'The name of a boundary is a uuid.'
  }
  if (namespace === '') return CLUSTER_WIDE
  if (namespace === SYSTEM_NAMESPACE) return ROOT_SCOPE
  const namespaceScope = scopeOfNamespace(namespace)
  if (namespaceScope === undefined) return `Namespace "${namespace}" belongs to no boundary.`
  const { boundaryId, resourceGroup } = namespaceScope
  if (!isList && (kind.placement === 'group') !== (resourceGroup !== undefined))
    return `${kind.kind} objects do not belong in namespace "${namespace}".`
  if (resourceGroup === undefined) {
    if (kind.kind !== ResourceGroup.kind || name === '') return { level: 'boundary', boundaryId }
    return isResourceName(name) ? { level: 'resourceGroup', boundaryId, resourceGroup: name } : NO_NAME
  }
  if (name === '') return { level: 'resourceGroup', boundaryId, resourceGroup }
  return scopeOfResource(kind, { boundaryId, resourceGroup }, name)
}

/** An object that is part of a resource is checked at that resource. */
function scopeOfResource(
  { segment, partOf }: AnyKind,
  namespaceScope: { boundaryId: string; resourceGroup: string },
  name = '',
): Scope | string {
  if (!isResourceName(name)) return NO_NAME
  return { level: 'resource', ...namespaceScope, collection: partOf?.collection ?? segment, name }
}

const INVALID_NAME = '!'
const NO_NAME = 'The name is not a valid resource name.'
const NO_LIST = 'Boundaries are listed by the REST interface only; name one by its id.'
const CLUSTER_WIDE = 'Lists over the whole cluster exist in the REST interface only; name a namespace with -n.'
