import { REGISTRY } from '../../scripts/node/addresses.ts'
import type { PackageImage } from '../../scripts/node/images.ts'
import type { KubeObject } from '../../src/core/object.ts'

/** A shell with the usual programs and no root, made of Debian packages. */
export const SHELL: PackageImage = {
  name: 'shell:1',
  packages: ['busybox-static', 'dash', 'coreutils'],
  config: { Cmd: ['sh'], User: '65532:65532' },
}
export const SHELL_IMAGE = `${REGISTRY}/${SHELL.name}`

/** A pod that runs one command and ends, as restricted as tenants' pods must be. */
export function shellPod(
  name: string,
  namespace: string,
  command: string,
  { volumes = [] }: { volumes?: readonly { name: string }[] } = {},
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
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
          image: SHELL_IMAGE,
          command: ['sh', '-c', command],
          resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '1', memory: '64Mi' } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: volumes.map(({ name: volume }) => ({ name: volume, mountPath: `/${volume}` })),
        },
      ],
    },
  }
}
