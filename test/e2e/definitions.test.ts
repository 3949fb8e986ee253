import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { z } from 'zod'
import { mergePatchBetween } from '../../src/api/records/mergePatch.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { defineKind, type Rule } from '../../src/crds/define.ts'
import { Description, DisplayName, listSetOf } from '../../src/crds/fields.ts'
import { rootSchema } from '../../src/crds/manifest.ts'
import { structuralSchema } from '../../src/crds/structural.ts'
import * as builtin from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { installManifests, resourcesOf } from '../../src/kube/crds.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { KEPT_CASES, NARROWED } from '../cases/keptCases.ts'
import { startTestControlPlane, type TestControlPlane } from '../cluster/index.ts'
import { definitionOf } from '../make/definition.ts'
import { until as seen } from '../make/until.ts'

describe('CRDs of a later version', () => {
  let controlPlane: TestControlPlane
  let client: KubeClient
  const namespace = `definitions-${randomUUID().slice(0, 8)}`

  before(async () => {
    controlPlane = await startTestControlPlane()
    client = createKubeClient(loadKubeconfig(controlPlane.kubeconfigPath), {
      fieldManager: 'freehold',
      userAgent: 'freehold-test',
    })
    await client.create(builtin.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  })
  after(async () => {
    await client?.remove(builtin.namespace, { name: namespace })
    await client?.close()
    await controlPlane?.stop()
  })

  it('reject invisible characters in new texts, and tolerate stored ones', async () => {
    const asked = { displayName: DisplayName, description: Description.optional(), n: z.int().optional() }
    const spec = structuralSchema(z.strictObject(asked), 'spec')
    const { displayName: _, ...others } = spec.properties as Record<string, object>
    const before = definitionOf({ spec: { ...spec, properties: { ...others, displayName: { type: 'string' } } } })
    const after = structuredClone(before) as KubeObject & { spec: { versions: Versions } }
    for (const { schema } of after.spec.versions) schema.openAPIV3Schema.properties.spec = spec
    const [resource] = resourcesOf(before) as [Resource]
    const object = (name: string, displayName: string) => ({
      ...{ apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind },
      ...{ metadata: { name, namespace }, spec: { displayName, description: 'one\ntwo' } },
    })
    const refusal = (asking: Promise<unknown>) =>
      asking.then(
        () => 'none',
        (error: { causes?: { message: string }[] }) => JSON.stringify([String(error), error.causes]),
      )
    try {
      await installManifests(client, [before])
      for (const [name, text] of Object.entries(HIDDEN)) await client.create(resource, object(name, text))
      await installManifests(client, [after])
      await seen('the new definition counts', async () =>
        (await refusal(client.create(resource, object('late', '\u00a0'), { dryRun: true }))).includes('invisible'),
      )
      for (const [name, text] of Object.entries(HIDDEN)) {
        const ref = { namespace, name }
        expect(await refusal(client.mergePatch(resource, ref, { spec: { n: 1 } })), name).to.equal('none')
        const again = client.mergePatch(resource, ref, { spec: { displayName: `${text}\u200b` } })
        expect(await refusal(again), name).to.include('invisible')
      }
      const joined = { spec: { displayName: '👩\u200d👩\u200d👧' } }
      expect(await refusal(client.mergePatch(resource, { namespace, name: 'lone' }, joined))).to.equal('none')
    } finally {
      await client.remove(builtin.customResourceDefinition, before.metadata)
    }
  })

  it('tolerate the same stored values as REST', async () => {
    const strict = structuralSchema(NARROWED, 'spec')
    const before = definitionOf({ spec: widened(strict) as object })
    const after = structuredClone(before) as KubeObject & { spec: { versions: Versions } }
    for (const { schema } of after.spec.versions) schema.openAPIV3Schema.properties.spec = strict
    const [resource] = resourcesOf(before) as [Resource]
    const object = (name: string, spec: object) => ({
      ...{ apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind },
      ...{ metadata: { name, namespace }, spec },
    })
    const isRefused = (asking: Promise<unknown>) =>
      asking.then(
        () => false,
        () => true,
      )
    try {
      await installManifests(client, [before])
      for (const [at, [, stored]] of KEPT_CASES.entries()) await client.create(resource, object(`case-${at}`, stored))
      await installManifests(client, [after])
      await seen('the new definition counts', () =>
        isRefused(client.create(resource, object('late', { size: 10 }), { dryRun: true })),
      )
      for (const [at, [sentence, stored, next, refused]] of KEPT_CASES.entries()) {
        const patch = { spec: mergePatchBetween(stored, next) }
        const asking = client.mergePatch(resource, { namespace, name: `case-${at}` }, patch)
        expect(await isRefused(asking), sentence).to.equal(refused.length > 0)
      }
    } finally {
      await client.remove(builtin.customResourceDefinition, before.metadata)
    }
  })

  it('let older objects that break a new rule change in other fields', async () => {
    const rules: Rule<unknown>[] = [
      { cel: "self.engine != 'Big' || !has(self.size) || self.size >= 2", field: 'size' },
      { cel: "[self].all(c, !has(c.names) || c.names.all(n, n != 'master'))", field: 'names' },
    ].map((rule) => ({ ...rule, message: `${rule.field} must fit`, code: 'BAD_REQUEST', test: () => true }))
    const declared = { engine: z.string(), size: z.int().optional(), names: listSetOf(z.string().max(9), 3).optional() }
    const kind = {
      group: 'core',
      kind: 'Try',
      plural: 'tries',
      shortNames: [],
      placement: 'group',
      area: 'tries',
    } as const
    const spec = z.strictObject({ ...declared, running: z.boolean().optional() })
    const texts = { description: '', spec, status: z.object({}), columns: [] }
    const schemaWith = (all: Rule<unknown>[]): object =>
      (rootSchema(defineKind({ ...kind, ...texts, rules: all })).properties as Record<string, object>).spec ?? {}
    const before = definitionOf({ spec: schemaWith([]) })
    const after = structuredClone(before) as KubeObject & { spec: { versions: Versions } }
    for (const { schema } of after.spec.versions) schema.openAPIV3Schema.properties.spec = schemaWith(rules)
    const [resource] = resourcesOf(before) as [Resource]
    const old = { engine: 'Big', size: 1, names: ['master', 'b'] }
    const object = (name: string) => ({
      ...{ apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind },
      ...{ metadata: { name, namespace }, spec: old },
    })
    const refused = (asking: Promise<unknown>) =>
      asking.then(
        () => [],
        (error: unknown) => (isKubeError(error) ? error.causes.map(({ field }) => field) : [String(error)]),
      )
    const patched = (part: object) => refused(client.mergePatch(resource, { namespace, name: 'old' }, { spec: part }))
    try {
      await installManifests(client, [before])
      await client.create(resource, object('old'))
      await installManifests(client, [after])
      await seen('the new definition counts', async () => {
        const found = await refused(client.create(resource, object('late'), { dryRun: true }))
        return found.join() === 'spec.size,spec.names'
      })
      expect(await patched({ running: false })).to.deep.equal([])
      expect(await patched({ size: 0 })).to.deep.equal(['spec.size'])
      expect(await patched({ names: ['master'] })).to.deep.equal(['spec.names'])
      expect(await patched({ size: 2, names: ['b'] })).to.deep.equal([])
      expect(await patched({ size: 1 })).to.deep.equal(['spec.size'])
    } finally {
      await client.remove(builtin.customResourceDefinition, before.metadata)
    }
  })
})

/** A schema that only states the type of its values; the API server requires keys of lists to be required. */
const widened = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema), (name, part) => {
    if (name === 'required') return (part as string[]).filter((field) => field === 'name')
    return /^(max\w+|min\w+|pattern|x-kubernetes-validations)$/.test(name) ? undefined : part
  })

type Versions = { schema: { openAPIV3Schema: { properties: Record<string, object> } } }[]
const HIDDEN = { lone: '\u00a0', inside: 'Te\u200bam', turned: 'Te\u202eam', marked: '\ufeffTeam' }
