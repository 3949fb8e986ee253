import { z } from 'zod'
import { containerNames } from '../../contracts/containerinstances.ts'
import { timestamp } from '../../core/clock.ts'
import { notFound } from '../../core/errors.ts'
import { ComponentField, VolumeField } from '../../crds/containerFields.ts'
import { ContainerInstance, completeInstance, completeSpec } from '../../crds/containerinstances.ts'
import { type InstanceContent, REVISION_FIELDS } from '../../crds/containerRevisions.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft, route } from '../http/route.ts'
import type { RecordOf } from '../records/records.ts'
import { withoutAbsent } from '../records/specs.ts'
import { changeResource } from '../resources/change.ts'
import { ResourceActionResultDto } from '../resources/dto.ts'
import { componentWithFiles, type FoundFiles, fileRoutes, filesOf } from '../resources/files.ts'
import { findResource, locateResource, type ResourceLocation } from '../resources/find.ts'
import { invalidState } from '../resources/invalidState.ts'
import { flag, number, text } from '../resources/paging.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { actionResult, refuseStopped } from '../resources/powerRoutes.ts'
import { resource } from '../resources/resource.ts'
import { revisionRoutes, rowWithImages } from '../resources/revisions.ts'
import { urlPreviewRoute } from '../resources/urlPreview.ts'
import { backupPolicyRoutes } from './backupPolicy.ts'
import { crateRoutes } from './crates.ts'
import { instanceRecord, requireInstanceReadRights } from './record.ts'

const BASE = '{RG}/containerinstances/{name}'

const PlanDto = namedRecord('ContainerInstancePlanDto', planFields)

/** The content of a single revision: the fields that a rollback restores. */
const Content = z.object(
  Object.fromEntries(
    Object.entries({
      ...ContainerInstance.spec.shape,
      components: z.array(ComponentField),
      volumes: z.array(VolumeField),
    })
      .filter(([name]) => (REVISION_FIELDS as readonly string[]).includes(name))
      .map(([name, schema]) => [name, schema as z.ZodType]),
  ),
)

/** The routes of container instances (interface sections 4.2 and 4.6). */
export const containerInstanceRoutes: readonly RouteDraft[] = [
  ...resource(ContainerInstance, {
    segment: 'containerinstances',
    further: REFERENCE_RIGHTS,
    actionPrefix: 'containerinstance',
    ...instanceRecord,
    example: {
      components: [
        {
          name: 'web',
          image: 'docker.io/nginxinc/nginx-unprivileged:1.29',
          ports: [{ name: 'http', port: 8080 }],
        },
      ],
    },
    fields: {
      image: text('Image', {
        of: ({ object }) => object.spec.components[0]?.image,
        isSorted: false,
        // Each component has its own image.
        isColumn: false,
      }),
      isPublic: flag('Public'),
      revision: number('Revision', { of: ({ object }) => object.status?.revision ?? 0 }),
      restartCount: number('Restarts', { of: ({ object }) => object.status?.restartCount ?? 0, isFiltered: false }),
    },
  }),
  ...planRoutes({
    segment: 'containerinstancecomputeplans',
    family: 'ContainerInstance',
    dto: PlanDto,
    productionReplicas: 3,
  }),
  ...crateRoutes(BASE),
  ...backupPolicyRoutes(BASE),
  ...fileRoutes(BASE, {
    read: dataAction('containerinstance/readFiles'),
    write: dataAction('containerinstance/writeFiles'),
    find: findFiles,
  }),
  ...revisionRoutes<typeof ContainerInstance, InstanceContent>(ContainerInstance, BASE, {
    read: action('containerinstance/read'),
    write: action('containerinstance/write'),
    dto: instanceRecord.dto,
    toDto: instanceRecord.toDto,
    single: { id: 'ContainerInstanceRevisionDto', content: Content },
    parametersOf: ({ parameters }) => parameters,
    row: rowWithImages(({ components }) => Object.fromEntries(components.map(({ name, image }) => [name, image]))),
    rollback,
  }),
  route('POST', `${BASE}/components/{component}/actions/redeploy`, {
    auth: action('containerinstance/write'),
    isHeld: true,
    summary: 'Replaces the copies of a component',
    reply: ResourceActionResultDto,
    handler: redeploy,
  }),
  urlPreviewRoute(ContainerInstance, '{B}/resources/containerinstances/url', 'containerinstance/write'),
]

/** Returns where the files of a component are: in its Persistent volumes. */
async function findFiles(context: Context, componentName: string | undefined): Promise<FoundFiles> {
  const { object, ref } = await findResource(ContainerInstance, context)
  const { spec } = completeInstance(object)
  const names = containerNames(ref.name)
  const persistent = new Set(spec.volumes.flatMap(({ name, kind }) => (kind === 'Persistent' ? [name] : [])))
  const withVolumes = spec.components.filter(({ mounts }) => mounts.some(({ volume }) => persistent.has(volume)))
  const { name: component, mounts, runAsUser } = componentWithFiles(withVolumes, componentName)
  const hasVolumes = object.status?.firstReadyAt !== undefined || object.status?.revision !== undefined
  const volumes = mounts
    .filter(({ volume }) => persistent.has(volume))
    .map(({ volume, path, subPath, readOnly }) => ({ path, claim: names.volume(volume), subPath, readOnly }))
  return filesOf(context, object, component, { volumes, user: runAsUser, hasVolumes })
}

/** Volumes are not rolled back, because they must not shrink or be removed. */
function rollback(
  stored: RecordOf<typeof ContainerInstance>,
  content: InstanceContent,
  context: Context,
  location: ResourceLocation,
): object {
  const kept = Object.entries(stored.spec).filter(([name]) => !(REVISION_FIELDS as readonly string[]).includes(name))
  const now = completeInstance(stored).spec.volumes
  const volumes = content.volumes
    .map((volume) => (volume.kind === 'Persistent' ? (now.find(({ name }) => name === volume.name) ?? volume) : volume))
    .concat(now.filter(({ name, kind }) => kind === 'Persistent' && !content.volumes.some((one) => one.name === name)))
  const spec = { ...Object.fromEntries(kept), ...content, volumes }
  const draft = completeSpec(withDefaults(ContainerInstance.spec, withoutAbsent(spec)))
  requireInstanceReadRights(draft, { ...location, services: context.services, context, previous: stored })
  return spec
}

/** @throws PlatformError NOT_FOUND, INVALID_STATE */
async function redeploy(context: Context) {
  const located = await locateResource(context, 'name')
  const component = context.parameters.component ?? ''
  const now = timestamp(context.services.clock.now())
  const { object, isChanged } = await changeResource(ContainerInstance, located, context, (stored) => {
    const { spec, metadata } = stored
    const exists = (one: string) => spec.components.some(({ name }) => name === one)
    if (!exists(component)) throw notFound(`Component "${component}"`)
    refuseStopped(stored)
    if (spec.components.some(({ name, replicas }) => name === component && replicas === 0))
      throw invalidState(stored, `Component "${component}" of "${metadata.name}" has no copies; scale it up instead.`)
    // Drop removed components: they would accumulate in the map, and no REST caller could remove them.
    const known = Object.entries(spec.redeployedAt).filter(([name]) => exists(name))
    return { ...spec, redeployedAt: { ...Object.fromEntries(known), [component]: now } }
  })
  const result = actionResult(ContainerInstance, 'redeploy', { ...located, object, isChanged, now })
  return ok(result, { etag: etagOf(object) })
}
