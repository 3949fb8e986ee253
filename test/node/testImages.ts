import { dirname } from 'node:path'
import type { PackageImage } from '../../scripts/node/images.ts'
import { NODE_LIBRARIES } from '../../scripts/node/platformImage.ts'

/** A shell with the usual programs and no root, made of Debian packages. */
export const SHELL: PackageImage = {
  name: 'shell:1',
  packages: ['busybox-static', 'dash', 'coreutils'],
  config: { Cmd: ['sh'], User: '65532:65532' },
}

/** Node, for workers. */
export const WORKER: PackageImage = {
  name: 'worker:1',
  packages: NODE_LIBRARIES.packages,
  layers: [{ from: dirname(process.execPath), paths: ['node'], to: 'usr/bin' }],
  config: { User: '65532:65532' },
}
