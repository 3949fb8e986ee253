import { silentProgress } from '../../scripts/controlplane/index.ts'
import { REGISTRY } from '../../scripts/node/addresses.ts'
import { type PackageImage, packageImage, pushInto } from '../../scripts/node/images.ts'
import { runningNamespaces } from '../../scripts/node/namespaces.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { until } from '../make/until.ts'
import { testPlatform } from '../worlds/tenant.ts'
import { SHELL } from './testImages.ts'

/** The namespaces of the node that these tests run on. */
export async function testNode() {
  const node = await runningNamespaces(testPlatform().folder)
  if (node === undefined) throw new Error('The platform of these tests has no node: run `npm run test:node`.')
  return node
}

/** Puts images of Debian packages into the registry of the node. */
export async function pushImages(...images: readonly PackageImage[]): Promise<void> {
  const search = { progress: silentProgress, signal: undefined }
  for (const image of images) await pushInto(await testNode(), [await packageImage(image, search)])
}

export const SHELL_IMAGE = `${REGISTRY}/${SHELL.name}`
export const pushShell = () => pushImages(SHELL)

export type Pod = KubeObject & {
  status?: {
    phase?: string
    podIP?: string
    containerStatuses?: { state?: { terminated?: { exitCode: number } } }[]
  }
}
type Place = { namespace: string; name: string }

/** Waits until the pod is in one of these phases. */
export function podIn(client: KubeClient, ref: Place, ...wanted: string[]): Promise<Pod> {
  return until(`${ref.name} is ${wanted.join(' or ')}`, async () => {
    const found = await client.get<Pod>(pod, ref)
    if (!wanted.includes(found.status?.phase ?? '')) throw new Error(JSON.stringify(found.status))
    return found
  })
}

export async function logOf(client: KubeClient, { namespace, name }: Place): Promise<string> {
  const answer = await client.request({ path: `/api/v1/namespaces/${namespace}/pods/${name}/log` })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`The log of ${name} was refused: ${text.slice(0, 300)}`)
  return text
}

/** A pod that runs one command and ends, as restricted as tenants' pods. */
export function shellPod(
  name: string,
  namespace: string,
  command: string,
  { volumes = [], image = SHELL_IMAGE }: { volumes?: readonly { name: string }[]; image?: string } = {},
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65532,
        fsGroup: 65532,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      volumes,
      containers: [
        {
          name: 'shell',
          image,
          command: ['sh', '-c', command],
          resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '1', memory: '64Mi' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: volumes.map(({ name: volume }) => ({ name: volume, mountPath: `/${volume}` })),
        },
      ],
    },
  }
}
