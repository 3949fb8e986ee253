import { randomBytes } from 'node:crypto'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { REGISTRY } from '../../scripts/node/addresses.ts'
import { programImage, pushInto } from '../../scripts/node/images.ts'
import { findObjectStore } from '../../scripts/objectstore/find.ts'
import { BACKUPS } from '../../scripts/test/platform.ts'
import { BACKUP_SECRET } from '../../src/controllers/relational/backup.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import type { BackupBucket } from '../cluster/veleroServer.ts'
import { pushShell, SHELL_IMAGE, testNode } from './shell.ts'

const { hostname, port } = new URL(BACKUPS.PLATFORM_BACKUP_ENDPOINT)
const [name = '', namespace = ''] = hostname.split('.')
const IMAGE = 'versitygw:1'
const USER = 65_532

/**
 * Puts an S3 store with the bucket for backups onto the node, and gives the platform its credentials for databases.
 *
 * @returns the same as a target of Velero
 */
export async function installBackupStore(client: KubeClient): Promise<BackupBucket> {
  const program = await findObjectStore(silentProgress, new AbortController().signal)
  if (program === undefined) throw new Error('The object store cannot be built here.')
  await pushShell()
  await pushInto(await testNode(), [await programImage(IMAGE, program)])
  const [id, secret] = ['backups', randomBytes(24).toString('base64url')]
  const labels = { app: name }
  const volumeMounts = [{ name: 'objects', mountPath: '/objects' }]
  const manifests = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: BACKUP_SECRET, namespace: SYSTEM_NAMESPACE },
      stringData: { 'access-key-id': id, 'secret-access-key': secret },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: { selector: labels, ports: [{ port: Number(port) }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            securityContext: { runAsUser: USER, fsGroup: USER },
            initContainers: [
              {
                name: 'bucket',
                image: SHELL_IMAGE,
                command: ['mkdir', '-p', `/objects/all/${BACKUPS.PLATFORM_BACKUP_BUCKET}`, '/objects/metadata'],
                volumeMounts,
              },
            ],
            containers: [
              {
                name: 'store',
                image: `${REGISTRY}/${IMAGE}`,
                args: ['--port', `:${port}`, 'posix', '--sidecar', '/objects/metadata', '/objects/all'],
                env: [
                  { name: 'ROOT_ACCESS_KEY_ID', value: id },
                  { name: 'ROOT_SECRET_ACCESS_KEY', value: secret },
                ],
                volumeMounts,
              },
            ],
            volumes: [{ name: 'objects', emptyDir: {} }],
          },
        },
      },
    },
  ]
  await installManifests(client, manifests as KubeObject[])
  const { PLATFORM_BACKUP_BUCKET: bucket, PLATFORM_BACKUP_ENDPOINT: endpoint } = BACKUPS
  return { bucket, endpoint, accessKeyId: id, secretAccessKey: secret }
}
