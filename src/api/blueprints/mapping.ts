import type { z } from 'zod'
import { VALUE_KEY, valueSecretName } from '../../contracts/blueprints/executions.ts'
import type { RenderedComponent } from '../../contracts/blueprints/render.ts'
import { invalidName, PlatformError, refusedFields } from '../../core/errors.ts'
import { boundaryNamespace, groupNamespace, isResourceName } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { parseScope, scopeContains } from '../../core/scope.ts'
import { BLUEPRINT_COLLECTIONS, type BlueprintCollection } from '../../crds/blueprintCollections.ts'
import type { AnyKind } from '../../crds/define.ts'
import { isRootOnly } from '../../iam/roles.ts'
import { ofType, principalNotFound } from '../callers/principals.ts'
import { groupScope, resourceScope } from '../callers/visibility.ts'
import { findVisiblePrincipals } from '../callers/visiblePeople.ts'
import type { Context, Services } from '../http/context.ts'
import { readModel } from '../http/model.ts'
import type { RecordOf } from '../records/records.ts'
import { checkSpec } from '../records/specs.ts'
import { declarationOf } from '../resources/declarations.ts'
import type { ResourceLocation } from '../resources/find.ts'
import { type UncachedObjects, uncachedKey } from '../resources/references.ts'
import { checkNewName, specForCreate, specForUpdate } from '../resources/writes.ts'
import { findRole, refuseExceeding, rootOnlyRefused } from '../rules/grants.ts'
import { componentBodySchema, type GrantBody } from './bodies.ts'

/** The caller and the target of a deployment. */
export type DeploymentTarget = {
  readonly context: Context
  readonly boundaryId: string
  readonly resourceGroup: string
  readonly clusterId: string
  /** A random mark for placeholders of values that become known later, so that user input cannot contain one. */
  readonly lateMark: string
}

type Ref = { readonly namespace: string; readonly name: string }
/** A component with the object that it stands for. */
export type LocatedComponent = {
  readonly rendered: RenderedComponent
  readonly entry: BlueprintCollection
  readonly ref: Ref
  readonly previous: RecordOf<AnyKind> | undefined
}

/** Reads the objects of the components to be created, bypassing the cache. */
export async function locateAll(
  { context: { services }, boundaryId, resourceGroup }: DeploymentTarget,
  components: readonly RenderedComponent[],
): Promise<LocatedComponent[]> {
  const group = groupNamespace(boundaryId, resourceGroup)
  const included = components.filter(({ isSkipped }) => !isSkipped)
  return Promise.all(
    included.map(async (rendered): Promise<LocatedComponent> => {
      const { resourceName, component, body } = rendered
      const entry = BLUEPRINT_COLLECTIONS.get(component.collection) as BlueprintCollection
      const { kind, part, objectName } = entry
      const parent = part === undefined ? resourceGroup : String(body[part.parentField] ?? '')
      const namespace = kind.placement === 'group' ? group : boundaryNamespace(boundaryId)
      const ref = { namespace, name: objectName(resourceName, parent) }
      return { rendered, entry, ref, previous: await services.records.get(kind, ref, { fresh: true }) }
    }),
  )
}

/** Returns the planned objects, which references of components may name although they do not exist yet. */
export function plannedObjectsOf(located: readonly LocatedComponent[]): UncachedObjects {
  return new Map(
    located.map(({ entry: { kind }, ref, previous }) => {
      const { apiVersion, kind: kindName } = kind
      // A vault entry is usable as soon as it has a value.
      const plannedEntry = { apiVersion, kind: kindName, metadata: { ...ref }, spec: { state: 'Active' } }
      return [uncachedKey(kind, ref), (previous as KubeObject | undefined) ?? plannedEntry]
    }),
  )
}

/**
 * Returns the spec that REST would store for the component, checked by the same schema, rules and rights as a separate
 * request of this caller.
 * @throws PlatformError what REST would refuse
 */
export async function buildComponentSpec(
  deploying: DeploymentTarget,
  located: LocatedComponent,
  planned: UncachedObjects,
): Promise<object> {
  const { entry, previous, rendered } = located
  const { kind, part, collection } = entry
  const declaration = declarationOf(kind)
  const body = { ...rendered.body }
  if (declaration !== undefined && Object.hasOwn(declaration.body.shape, 'clusterId') && kind.runsAnywhere === true)
    body.clusterId ??= deploying.clusterId
  const read = readModel(componentBodySchema(entry), body) as Record<string, unknown>
  const spec =
    collection === 'roleassignments'
      ? await grantSpec(deploying, read as z.output<typeof GrantBody>)
      : declaration === undefined
        ? partSpec(located, read)
        : await declaredSpec(deploying, located, read, planned)
  if (part !== undefined && !isResourceName(String(read[part.parentField])))
    throw refusedFields([{ field: part.parentField, message: 'must be the name of the resource that holds it' }])
  return checkSpec(kind, spec, previous?.spec)
}

async function declaredSpec(
  deploying: DeploymentTarget,
  { entry: { kind, part }, previous, rendered: { resourceName: name } }: LocatedComponent,
  read: Record<string, unknown>,
  planned: UncachedObjects,
): Promise<object> {
  const { context, boundaryId, resourceGroup } = deploying
  const { [part?.parentField ?? '']: parent, ...body } = read
  checkNewName(name, context.services.reservedNames, kind.nameMin)
  const location = {
    boundaryId,
    resourceGroup,
    name,
    ...(part !== undefined && { [part.parentField]: parent }),
  } as ResourceLocation
  const requestContext = contextWithBody(context, body, { boundaryId, resourceGroupName: resourceGroup })
  const declaration = declarationOf(kind)
  if (declaration === undefined) throw new TypeError(`${kind.kind} is not declared.`)
  if (previous === undefined) return specForCreate(kind, requestContext, location, declaration, { planned })
  return specForUpdate(kind, requestContext, location, declaration, previous, 'put', planned)
}

/** Returns the context of the same caller with another body, as if it were a separate request. */
function contextWithBody(context: Context, body: unknown, parameters: Record<string, string>): Context {
  const { services, caller, address, isAnonymous, correlationId, log, scope, list, mediaType, signal, owe } = context
  return {
    ...{ services, caller, address, isAnonymous, correlationId, log, scope, list, mediaType, signal, owe },
    ...{ body, parameters, query: {}, ifMatch: undefined, fresh: false, header: () => undefined, prove: () => {} },
    whileHolding: (isHeld) => context.whileHolding(isHeld),
    get rawBody() {
      return context.rawBody
    },
    get whilePermitted() {
      return context.whilePermitted
    },
  }
}

function partSpec({ entry, previous, ref, rendered }: LocatedComponent, read: Record<string, unknown>): object {
  const { part, collection } = entry
  const { value: _, ...fields } = read
  const templateFields = collection === 'secrets' ? fields : read
  const nameField = part?.nameField === undefined ? {} : { [part.nameField]: rendered.resourceName }
  if (part?.nameField === undefined && !isResourceName(rendered.resourceName)) throw invalidName(rendered.resourceName)
  const before = previous?.spec as Record<string, unknown> | undefined
  const hiddenFields = Object.fromEntries((part?.hidden ?? []).map((field) => [field, before?.[field]]))
  const valueSource = collection === 'secrets' && {
    valueFrom: { secretName: valueSecretName(ref.name), key: VALUE_KEY },
  }
  return { ...hiddenFields, ...templateFields, ...nameField, ...valueSource }
}

/** @throws PlatformError unknown_role, forbidden, BAD_REQUEST, principal_not_found */
async function grantSpec(deploying: DeploymentTarget, body: z.output<typeof GrantBody>): Promise<object> {
  const { context, boundaryId, resourceGroup } = deploying
  const { services, caller } = context
  const { principalId, roleDefinitionName, expiresAt, reason } = body
  const scope = body.scope ?? groupScope(boundaryId, resourceGroup)
  const parsedScope = parseScope(scope)
  if (parsedScope === undefined || !scopeContains({ level: 'resourceGroup', boundaryId, resourceGroup }, parsedScope))
    throw refusedFields([{ field: 'scope', message: 'must lie in the group' }])
  const role = findRole(services, roleDefinitionName)
  if (isRootOnly(role)) throw rootOnlyRefused(role, scope)
  const known = (await findVisiblePrincipals(services, caller, [principalId], boundaryId)).get(principalId)
  const principal = ofType(known, body.principalType)
  if (principal === undefined) throw principalNotFound(principalId)
  refuseExceeding(services, caller, { role, scope, principalIds: [principalId], boundaryId }, 'forbidden')
  return { principalId, principalType: principal.principalType, roleDefinitionName, scope, expiresAt, reason }
}

/** Returns which of the actions the caller lacks in the group. */
export async function missingActions(
  services: Services,
  principalId: string,
  actions: readonly string[],
  scope: string,
): Promise<string[]> {
  const missing = () => actions.filter((action) => !services.access.isAllowed(principalId, action, scope))
  if (missing().length === 0) return []
  await services.access.catchUp(principalId, scope)
  return missing()
}

/** @throws PlatformError FORBIDDEN with `missing` */
export async function requireActions(
  { context: { services, caller }, boundaryId, resourceGroup }: DeploymentTarget,
  actions: readonly string[],
): Promise<void> {
  const scope = groupScope(boundaryId, resourceGroup)
  const missing = await missingActions(services, caller.principalId, actions, scope)
  if (missing.length > 0) throw permissionsMissing(missing, scope)
}

function permissionsMissing(missing: readonly string[], scope: string): PlatformError {
  const message = `Deploying this needs permissions that are missing at ${scope}: ${missing.join(', ')}.`
  return new PlatformError('FORBIDDEN', message, { missing, scope })
}

/** Returns the scope at which writing a component is checked: the resource itself, or the parent of a part. */
function scopeOf({ boundaryId, resourceGroup }: DeploymentTarget, { entry, rendered }: LocatedComponent): string {
  const { part, kind } = entry
  if (part !== undefined) {
    const parent = String(rendered.body[part.parentField] ?? '')
    return resourceScope(boundaryId, resourceGroup, part.parentCollection, parent)
  }
  if (kind.segment === undefined || kind.placement !== 'group') return groupScope(boundaryId, resourceGroup)
  return resourceScope(boundaryId, resourceGroup, kind.segment, rendered.resourceName)
}

/** Checks each resource too, because a deny may be at a single one. @throws PlatformError FORBIDDEN with `missing` */
export async function requireActionsAtEach(
  deploying: DeploymentTarget,
  located: readonly LocatedComponent[],
): Promise<void> {
  const { services, caller } = deploying.context
  for (const one of located) {
    const scope = scopeOf(deploying, one)
    // An invalid name is refused later, with the spec.
    if (parseScope(scope) === undefined) continue
    const missing = await missingActions(services, caller.principalId, [one.entry.action], scope)
    if (missing.length > 0) throw permissionsMissing(missing, scope)
  }
}

/** Returns whether the caller may see the current state of a component. */
export function mayReadComponent(deploying: DeploymentTarget, located: LocatedComponent): boolean {
  const { services, caller } = deploying.context
  const action = located.entry.action.replace(/\/write(Secrets)?$/, '/read')
  return services.access.isAllowed(caller.principalId, action, scopeOf(deploying, located))
}
