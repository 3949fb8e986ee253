import { openValue, unwrapDataKey, wrappingKeyId } from '../../../src/contracts/vaults/envelope.ts'
import { entryName, keyContext, valueContext, valueNames } from '../../../src/contracts/vaults/names.ts'
import { decodeJwe } from '../../../src/contracts/vaults/valueSecret.ts'
import { SecretVault, VaultEntry } from '../../../src/crds/vaults.ts'
import { secret } from '../../../src/kube/builtin.ts'
import type { Flow, Step } from '../flow.ts'
import { HOME } from '../seeds.ts'
import type { World } from '../world.ts'

const VAULT = 'safe'
const ENTRY = entryName(VAULT, 'Password')
const DAY = 86_400_000
type Entry = VaultEntry & { [field: string]: unknown }

const entryOf = (world: World) => world.find<Entry>(VaultEntry.resource, ENTRY)

const makeVault: Step = {
  user: 'makes a vault',
  act: (world) => world.make(SecretVault, VAULT, { softDeleteRetentionDays: 7 }),
  until: (world) => world.isReady(SecretVault, VAULT),
}

/** Writes a value as kubectl does: a Secret that the entry follows. */
const write = (value: string): Step => ({
  user: `writes "${value}"`,
  async act(world) {
    await world.makeSecret('incoming', { value })
    const valueFrom = { secretName: 'incoming', key: 'value' }
    const spec = { vaultName: VAULT, secretName: 'Password', valueFrom }
    if ((await entryOf(world)) === undefined) await world.make(VaultEntry, ENTRY, spec)
    else await world.change(VaultEntry, ENTRY, { state: 'Active', valueFrom })
  },
  async until(world) {
    const source = await world.find(secret, 'incoming')
    const taken = (await entryOf(world))?.spec.history?.source?.resourceVersion
    return taken === source?.metadata.resourceVersion && world.isReady(VaultEntry, ENTRY)
  },
})

const turn = (state: 'Active' | 'Deleted' | 'Purged'): Step => ({
  user: `sets the state ${state}`,
  act: (world) => world.change(VaultEntry, ENTRY, { state }),
  until: (world) => world.isReady(VaultEntry, ENTRY),
})

const pass = (what: string, days: number, until: (world: World) => Promise<boolean>): Step => ({
  user: `waits for ${what}`,
  act: (world) => world.pass(days * DAY),
  until,
})

/** Every listed version opened, the platform key that wraps them, and what a workload mounts. */
async function facts(world: World): Promise<object> {
  const { history } = (await entryOf(world))?.spec ?? {}
  const life = history?.life ?? 1
  const names = valueNames(ENTRY, life)
  const wrapped = decodeJwe(await world.secret(names.key))
  const { platformKeys } = world.engines
  const versions = history?.versions ?? []
  const values = await Promise.all(
    versions.map(async ({ version }) => {
      const sealed = decodeJwe(await world.secret(names.version(version)))
      if (sealed === undefined || wrapped === undefined) return [version, 'lost']
      const dataKey = await unwrapDataKey(wrapped, platformKeys, keyContext(HOME, ENTRY, life))
      return [version, await openValue(sealed, dataKey, valueContext(HOME, ENTRY, life, version))]
    }),
  )
  const mounted = (await world.secret('mounted'))?.password
  return {
    values,
    wrappedBy: wrapped === undefined ? 'none' : wrappingKeyId(wrapped),
    mounted: mounted === undefined ? undefined : Buffer.from(mounted, 'base64').toString(),
  }
}

const common = { controllers: ['secretvault', 'vaultentry'], facts }

export const vaultFlows: readonly Flow[] = [
  {
    ...common,
    title: 'a vault is created, and a secret in it gets three versions that a workload mounts',
    steps: [
      makeVault,
      write('one'),
      {
        user: 'mounts it',
        act: (world) => world.change(VaultEntry, ENTRY, { mountAs: { secretName: 'mounted', key: 'password' } }),
      },
      write('two'),
      write('three'),
    ],
  },
  {
    ...common,
    title: 'a platform key is added, and the old one is retired',
    given: [makeVault, write('one')],
    steps: [
      {
        user: 'adds a platform key',
        act: ({ engines }) => engines.platformKeys.add('second'),
        until: async (world) => {
          const status = (await world.find(SecretVault.resource, VAULT))?.status as { pendingRewraps?: number }
          return status.pendingRewraps === 0
        },
      },
      { user: 'retires the old one', act: ({ engines }) => engines.platformKeys.retire('first') },
      write('two'),
    ],
  },
  {
    ...common,
    title: 'a secret is deleted, recovered, deleted and purged, and written again',
    given: [makeVault, write('one'), write('two')],
    steps: [turn('Deleted'), turn('Active'), turn('Deleted'), turn('Purged'), write('three')],
  },
  {
    ...common,
    title: 'a deleted secret is purged after its retention, and its record is removed',
    given: [makeVault, write('one')],
    steps: [
      turn('Deleted'),
      pass('the purge', 7, async (world) => (await entryOf(world))?.spec.state === 'Purged'),
      pass('the end of its numbers', 8, async (world) => (await entryOf(world)) === undefined),
    ],
  },
  {
    ...common,
    title: 'a vault is deleted with the secret in it',
    given: [makeVault, write('one')],
    steps: [
      {
        user: 'deletes it',
        act: (world) => world.remove(SecretVault, VAULT),
        until: (world) => world.isGone(SecretVault, VAULT),
      },
    ],
  },
]
