import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { SECRET_ACCESS_FIELDS, unknownParameters } from '../../contracts/containerinstances.ts'
import { refusedFields, withFieldPrefix } from '../../core/errors.ts'
import { BackupPolicyField } from '../../crds/containerFields.ts'
import {
  ContainerInstance,
  completeInstance,
  completeSpec,
  type SpecOfContainerInstance,
} from '../../crds/containerinstances.ts'
import { publicTarget } from '../../crds/containerRules.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'
import { withoutAbsent } from '../records/specs.ts'
import { hostFields, refuseTakenHosts } from '../resources/hosts.ts'
import { shownSchema, shownValue } from '../resources/items.ts'
import { recordOf } from '../resources/record.ts'
import {
  type Reference,
  refuseMissingReferences,
  requireReferenceRights,
  requireVaultRights,
} from '../resources/references.ts'
import {
  choosePlan,
  chooseSizes,
  effectiveSizes,
  planInView,
  planOf,
  refuseRequestOverLimit,
  type SizedBody,
  type SizedSpec,
} from '../resources/sizing.ts'
import { refuseUnshared } from '../resources/storage.ts'
import type { ResourceView, WriteView } from '../resources/types.ts'

export type InstanceView = ResourceView<typeof ContainerInstance>
type InstanceWrite = WriteView<typeof ContainerInstance>

type Draft = SpecOfContainerInstance
type Sizable = SizedBody & { name: string }

const stateOf = ({ object }: InstanceView, name: unknown) =>
  object.status?.components?.find((component) => component.name === name)

/** ContainerInstanceDto (records: container instances). */
export const instanceRecord = recordOf(ContainerInstance, {
  hidden: ['restartedAt', 'redeployedAt', 'onDelete', 'backupPolicy'],
  computed: {
    backupPolicy: [
      shownSchema(BackupPolicyField).nullable().describe('Changed by the routes of the backup policy'),
      ({ object }) => shownValue(BackupPolicyField, completeInstance(object).spec.backupPolicy),
    ],
    ...hostFields,
    revision: z.int().describe('0 until the first is recorded'),
    readyReplicas: z.int(),
    restartCount: z.int(),
  },
  items: {
    components: {
      readyReplicas: [z.int(), ({ name }, view) => stateOf(view, name)?.readyReplicas ?? 0],
      imageDigest: [z.string().nullable(), ({ name }, view) => stateOf(view, name)?.imageDigest],
    },
    volumes: {
      sharedByComponents: [
        z.boolean().describe('Whether more than one component mounts it'),
        ({ name }, { object }) => mountersOf(completeInstance(object).spec, name).length > 1,
      ],
    },
  },
  filled: { computePlan: planInView },
  shownAs: {
    components: shownComponents,
    publicComponent: ({ object }) => shownTarget(completeInstance(object).spec).publicComponent,
    publicPort: ({ object }) => shownTarget(completeInstance(object).spec).publicPort,
  },
  refine: (given, view) => {
    const sized = (given.components ?? []).map((component, at) =>
      withFieldPrefix(`components.${at}`, () => sizedComponent(component, given.computePlan, view)),
    )
    const components = sized as NonNullable<typeof given.components>
    const completed = completeSpec(withDefaults(ContainerInstance.spec, withoutAbsent({ ...given, components })))
    const target = chosenTarget(completed, view)
    const draft = { ...completed, publicComponent: undefined, publicPort: undefined, ...target }
    requireInstanceReadRights(draft, view)
    refuseUnknownParameters(draft)
    refuseUnshared(draft, view.services)
    refuseTakenHosts(ContainerInstance, draft, view)
    return { components, publicComponent: target.publicComponent, publicPort: target.publicPort }
  },
})

const mountersOf = ({ components }: Pick<SpecOfContainerInstance, 'components'>, volume: unknown) =>
  components.filter(({ mounts }) => mounts.some((mount) => mount.volume === volume))

type Target = Pick<Draft, 'publicComponent' | 'publicPort'>

/** If the stored target matches no port, which is possible while nothing is public, it is shown as stored. */
const shownTarget = (spec: Pick<Draft, 'components'> & Target): Target => {
  const { component, port } = publicTarget(spec) ?? {}
  return { publicComponent: component?.name ?? spec.publicComponent, publicPort: port?.port ?? spec.publicPort }
}

/** Stores the default target as absent, and a target that is sent back as read in its stored form. */
function chosenTarget({ components, publicComponent, publicPort }: Draft, { previous }: InstanceWrite): Target {
  const given = { publicComponent, publicPort }
  const before = previous && completeInstance(previous).spec
  if (before !== undefined && isDeepStrictEqual(given, shownTarget(before))) {
    return { publicComponent: before.publicComponent, publicPort: before.publicPort }
  }
  return isDeepStrictEqual(given, shownTarget({ components })) ? {} : given
}

const withSizes = (component: SizedSpec, computePlan: string | undefined): SizedSpec => ({
  ...component,
  computePlan: component.computePlan ?? computePlan,
})

/** Returns the components with their effective sizes. */
function shownComponents({ services, object: { spec } }: InstanceView) {
  return spec.components.map((component) => {
    const sized = withSizes(component, spec.computePlan)
    const {
      storageSize: _size,
      storageClass: _class,
      ...sizes
    } = effectiveSizes(sized, planOf(services, 'ContainerInstance', sized))
    return { ...component, ...sizes }
  })
}

/** @throws PlatformError PLAN_NOT_FOUND, PLAN_DEPRECATED, BAD_REQUEST */
function sizedComponent(component: Sizable, computePlan: string | undefined, view: InstanceWrite): object {
  const before = view.previous?.spec
  const old = before?.components.find(({ name }) => name === component.name)
  const previous = before && old && { spec: withSizes(old as SizedSpec, before.computePlan) }
  const componentView = { ...view, form: 'put' as const, previous }
  const planId = component.computePlan ?? computePlan
  const { effective } = choosePlan('ContainerInstance', { computePlan: planId }, componentView)
  const chosen = chooseSizes('ContainerInstance', component, componentView, { effective })
  const { storageSize: _size, storageClass: _class, ...sizes } = chosen
  refuseRequestOverLimit(sizes, effective)
  return { ...component, ...sizes }
}

const contentOf = (spec: Draft) => SECRET_ACCESS_FIELDS.map((field) => spec[field])

/**
 * References are checked when they are written, so a change that cannot reveal their values needs no right to read
 * them.
 * @throws PlatformError FORBIDDEN, REFERENCE_NOT_FOUND
 */
export function requireInstanceReadRights(
  draft: Draft,
  view: Pick<InstanceWrite, 'boundaryId' | 'resourceGroup' | 'services' | 'context' | 'previous'>,
): void {
  const { components, volumes, registryCredential, managedIdentity } = draft
  const previous = view.previous && completeInstance(view.previous)
  if (previous === undefined || !isDeepStrictEqual(contentOf(draft), contentOf(previous.spec))) {
    requireReferenceRights({ components, volumes, managedIdentity }, view)
  }
  if (registryCredential !== undefined && !isDeepStrictEqual(registryCredential, previous?.spec.registryCredential)) {
    requireVaultRights([registryCredential.vaultName], view)
  }
  const next = Object.fromEntries(components.map(({ env }, at) => [`components.${at}.env`, env]))
  const known = previous === undefined ? [] : referencesOf(previous.spec)
  refuseMissingReferences({ ...next, volumes, registryCredential: [{ secret: registryCredential }] }, known, view)
}

const referencesOf = ({ components, volumes, registryCredential }: Draft): Reference[] => [
  ...components.flatMap(({ env }) => env),
  ...volumes,
  { secret: registryCredential },
]

/** @throws PlatformError BAD_REQUEST */
function refuseUnknownParameters({ components, parameters }: Draft): void {
  for (const [at, { command, args, env }] of components.entries()) {
    const [name] = unknownParameters({ command, args, env }, parameters)
    if (name === undefined) continue
    const message = `needs the parameter "${name}", which is not in parameters`
    throw refusedFields([{ field: `components.${at}`, message }])
  }
}
