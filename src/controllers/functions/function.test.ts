import { expect } from 'chai'
import type { KubeObject, Resource } from '../../core/object.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { VaultEntry } from '../../crds/vaults.ts'
import type { Observed, Workspace } from '../engine/controller.ts'
import { lookupKeys } from '../engine/lookups.ts'
import { functionController } from './function.ts'

/** Caches of these objects, in the order of the list. */
function holding(...stored: KubeObject[]): Workspace {
  const cache = (resource: Resource) => {
    const held = stored.filter(({ kind }) => kind === resource.kind)
    const isIn = (object: KubeObject, home?: string) => home === undefined || object.metadata.namespace === home
    return {
      list: ({ namespace }: { namespace?: string } = {}) => held.filter((each) => isIn(each, namespace)),
      byIndex: (_index: string, key: string) => held.filter((each) => lookupKeys(each).includes(key)),
      get: (namespace: string, name: string) =>
        held.find((each) => isIn(each, namespace) && each.metadata.name === name),
    }
  }
  return { cache } as unknown as Workspace
}

const object = (kind: string, namespace: string, name: string, spec: object): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace },
  spec,
})
const reference = { name: 'TOKEN', secret: { vaultName: 'keys', secretName: 'Token' } }
const shop = object(ServerlessFunction.kind, 'ours', 'shop-pay', { namespaceName: 'shop', triggers: [], env: [] })
const entry = object(VaultEntry.kind, 'ours', 'keys.token', { vaultName: 'keys', secretName: 'token' })

function woken(changed: KubeObject, records: Workspace): string[] {
  const { observes = [] } = functionController as unknown as { observes?: readonly (Observed | Resource)[] }
  return observes.flatMap((one) => {
    if (!('resource' in one) || one.resource.kind !== changed.kind) return []
    return one.keysOf?.(changed, records) ?? []
  }) as string[]
}

describe('requeues after a new version of a secret', () => {
  it('include a function whose namespace refers to it', () => {
    const namespace = object(FunctionNamespace.kind, 'ours', 'shop', { env: [reference] })
    expect(woken(entry, holding(shop, namespace))).to.deep.equal(['ours/shop-pay'])
  })

  it('include it although another group has a namespace with the same name', () => {
    const foreign = object(FunctionNamespace.kind, 'theirs', 'shop', { env: [] })
    const namespace = object(FunctionNamespace.kind, 'ours', 'shop', { env: [reference] })
    expect(woken(entry, holding(shop, foreign, namespace))).to.deep.equal(['ours/shop-pay'])
  })

  it('exclude a function if only a namespace of that name in another group refers to it', () => {
    const foreign = object(FunctionNamespace.kind, 'theirs', 'shop', { env: [reference] })
    const namespace = object(FunctionNamespace.kind, 'ours', 'shop', { env: [] })
    expect(woken(entry, holding(shop, foreign, namespace))).to.deep.equal([])
  })
})
