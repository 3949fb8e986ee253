import { expect } from 'chai'
import { NODE_NAME } from './addresses.ts'
import { type Claim, folderToRemove, PROVISIONER, type Volume, volumeFor } from './volumes.ts'

const uid = '7d0cd5d4-7d3a-4b8e-9a53-3c3f5d3c9a10'
const storageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'standard' },
  provisioner: PROVISIONER,
}
const claim = (spec: object = {}, metadata: object = {}): Claim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'c', namespace: 'n', uid, ...metadata },
  spec: { storageClassName: 'standard', resources: { requests: { storage: '5Gi' } }, ...spec },
})

describe('volumes of the node', () => {
  it('have a folder named after their claim, a claimRef and the node', () => {
    const volume = volumeFor(claim(), storageClass, '/volumes')
    expect(volume?.spec).to.deep.include({
      capacity: { storage: '5Gi' },
      local: { path: `/volumes/pvc-${uid}` },
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'n', name: 'c', uid },
    })
    expect(JSON.stringify(volume?.spec)).to.contain(NODE_NAME)
  })

  const none: [string, Claim, typeof storageClass | undefined][] = [
    ['a claim of another storage class', claim(), { ...storageClass, provisioner: 'example.com/disks' }],
    ['a claim whose storage class is missing', claim(), undefined],
    ['a claim that names its volume', claim({ volumeName: 'v' }), storageClass],
    ['a claim that is being deleted', claim({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }), storageClass],
    ['a claim for a block device', claim({ volumeMode: 'Block' }), storageClass],
  ]
  for (const [what, given, of] of none) {
    it(`are not created for ${what}`, () => expect(volumeFor(given, of, '/volumes')).to.equal(undefined))
  }

  const released = (changes: { metadata?: object; spec?: object; status?: object } = {}): Volume => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: `pvc-${uid}`,
      annotations: { 'pv.kubernetes.io/provisioned-by': PROVISIONER },
      ...changes.metadata,
    },
    spec: { persistentVolumeReclaimPolicy: 'Delete', local: { path: `/volumes/pvc-${uid}` }, ...changes.spec },
    status: { phase: 'Released', ...changes.status },
  })

  it('are removed with their folder when they are released', () =>
    expect(folderToRemove(released(), '/volumes')).to.equal(`/volumes/pvc-${uid}`))

  const kept: [string, Volume][] = [
    ['it is bound', released({ status: { phase: 'Bound' } })],
    ['its reclaim policy is Retain', released({ spec: { persistentVolumeReclaimPolicy: 'Retain' } })],
    ['another provisioner created it', released({ metadata: { annotations: {} } })],
    ['its path is not below the folder', released({ spec: { local: { path: '/etc' } } })],
    ['its name leaves the folder', released({ metadata: { name: '../etc' }, spec: { local: { path: '/etc' } } })],
  ]
  for (const [why, volume] of kept) {
    it(`are kept if ${why}`, () => expect(folderToRemove(volume, '/volumes')).to.equal(undefined))
  }
})
