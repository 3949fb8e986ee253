import { spawn } from 'node:child_process'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { messageOf } from '../../src/core/errors.ts'
import type { KubeObject } from '../../src/core/object.ts'
import {
  namespace,
  networkPolicy,
  persistentVolume,
  persistentVolumeClaim,
  pod,
  storageClass,
} from '../../src/kube/builtin.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import { createKubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { type NetworkPolicy, type Pod, rulesOf } from './networkPolicies.ts'
import { type Claim, folderToRemove, type Volume, volumeFor } from './volumes.ts'

/**
 * What a cloud brings beside Kubernetes, for the one node: makes and removes volumes, and enforces NetworkPolicies. Runs
 * in the network of the node: `keeper.ts KUBECONFIG FOLDER`.
 */
const [kubeconfig = '', folder = ''] = process.argv.slice(2)
const client = createKubeClient(loadKubeconfig(kubeconfig), {
  fieldManager: 'freehold-node',
  userAgent: 'freehold-node',
})
const caches = new CacheSet({ client })
const [claims, volumes, classes] = [
  caches.add<Claim>(persistentVolumeClaim),
  caches.add<Volume>(persistentVolume),
  caches.add<KubeObject & { provisioner: string }>(storageClass),
]
const [policies, pods, namespaces] = [
  caches.add<NetworkPolicy>(networkPolicy),
  caches.add<Pod>(pod),
  caches.add(namespace),
]
const complain = (what: string) => (error: unknown) => process.stderr.write(`${what}: ${messageOf(error)}\n`)

async function makeVolume(claim: Claim): Promise<void> {
  const wanted = volumeFor(claim, classes.get(undefined, claim.spec.storageClassName ?? ''), folder)
  const path = wanted?.spec.local?.path
  if (wanted === undefined || path === undefined) return
  if (volumes.get(undefined, wanted.metadata.name) !== undefined) return
  await mkdir(path, { recursive: true })
  // Any user of a container may write, as on a new disk in a cloud; chmod ignores our umask.
  await chmod(path, 0o777)
  await client.create(persistentVolume, wanted)
}

async function removeVolume(volume: Volume): Promise<void> {
  const path = folderToRemove(volume, folder)
  if (path === undefined) return
  await rm(path, { recursive: true, force: true })
  await client.remove(persistentVolume, { name: volume.metadata.name }, { uid: volume.metadata.uid })
}

let isApplying = false
let isAsked = false
let applied = ''

/** One script at a time; later changes go into the next. After a failed script the last rules stay in force. */
async function enforce(): Promise<void> {
  isAsked = true
  if (isApplying) return
  isApplying = true
  try {
    while (isAsked) {
      isAsked = false
      const script = rulesOf({ policies: policies.list(), pods: pods.list(), namespaces: namespaces.list() })
      if (script !== applied) await load(script)
      applied = script
    }
  } finally {
    isApplying = false
  }
}

function load(script: string): Promise<void> {
  const child = spawn('nft', ['-f', '-'], { stdio: ['pipe', 'ignore', 'inherit'] })
  child.stdin.end(script)
  return new Promise((done, failed) => {
    child.once('error', failed)
    child.once('close', (code) => (code === 0 ? done() : failed(new Error(`nft ended with code ${code}`))))
  })
}

caches.start()
await caches.whenAllSynced()
claims.subscribe(
  ({ type, object }) => {
    if (type !== 'removed') makeVolume(object).catch(complain(`No volume for ${object.metadata.name}`))
  },
  { replay: true },
)
volumes.subscribe(
  ({ type, object }) => {
    if (type !== 'removed') removeVolume(object).catch(complain(`${object.metadata.name} is not removed`))
  },
  { replay: true },
)
for (const cache of [policies, pods, namespaces] as const) {
  cache.subscribe(() => void enforce().catch(complain('The rules of the network are not applied')))
}
await enforce()
process.stdout.write('ready\n')
