import { hostname } from 'node:os'
import { podVolumeFiles } from '../../adapters/volumefiles/pods.ts'
import type { Services } from '../../api/http/context.ts'
import { PlatformError } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { pod } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { FacadeSetup } from './setup.ts'

/** Reaches files of volumes through pods, with the platform's own image unless another is configured. */
export function volumeFileServices({
  configuration,
  client,
  exec,
  agents,
}: FacadeSetup): Pick<Services, 'volumeFiles'> {
  const { filesImage, simulated } = configuration
  let imageOfPod: Promise<string> | undefined
  const image = async () => {
    if (filesImage !== undefined) return filesImage
    imageOfPod ??= ownImage(client)
    return imageOfPod.catch((error) => {
      imageOfPod = undefined
      throw error
    })
  }
  const otherCluster = (clusterId: string) => ({ client: agents.clientOf(clusterId), exec: agents.execOf(clusterId) })
  return {
    volumeFiles: podVolumeFiles({ client, exec, image, isSimulated: simulated.includes('pods'), other: otherCluster }),
  }
}

type Pod = KubeObject & { spec: { containers: { image: string }[] } }

/**
 * Returns the image of this process's pod, which is named like the host.
 *
 * @throws PlatformError FEATURE_UNSUPPORTED if the process does not run in a pod
 */
async function ownImage(client: KubeClient): Promise<string> {
  const podRequest = client.get<Pod>(pod, { namespace: SYSTEM_NAMESPACE, name: hostname() })
  const { spec } = await podRequest.catch((error: unknown) => {
    if (!isKubeError(error, 'NotFound')) throw error
    const message = 'Files cannot be reached: the platform does not run in a pod, and the setting filesImage is empty.'
    throw new PlatformError('FEATURE_UNSUPPORTED', message, { feature: 'files' })
  })
  const [container] = spec.containers
  if (container === undefined) throw new Error('The pod of this process has no container.')
  return container.image
}
