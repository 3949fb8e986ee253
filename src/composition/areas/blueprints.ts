import { readFileSync } from 'node:fs'
import { createGitFiles } from '../../adapters/gitfiles/client.ts'
import { createOutgoing } from '../../adapters/outgoing/client.ts'
import { readWhole } from '../../api/blueprints/reading.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeSecrets, kubeSecretWriter } from '../../api/records/secrets.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import type { AreaSetup, FacadeSetup } from './setup.ts'

/** Bytes of one answer of a Git server: of one that cannot leave out files, a whole repository without its history. */
const PACK_BYTES = 16 * 1024 * 1024
/** Milliseconds of one answer. */
const PACK_TIMEOUT = 30_000

/** Where the values of secret parameters are kept. */
export function blueprintServices({ client }: FacadeSetup): Pick<Services, 'blueprints'> {
  return { blueprints: { secrets: { ...kubeSecrets(client), ...kubeSecretWriter(client) } } }
}

export function blueprintPorts({ configuration, onStop }: AreaSetup): Pick<ControllerPorts, 'blueprints'> {
  const { outgoingHosts, outgoingCertificateAuthority: path, circuitUrl } = configuration
  const authority = path === undefined ? {} : { certificateAuthority: readFileSync(path, 'utf8') }
  const allowedHosts = circuitUrl === undefined ? outgoingHosts : [...outgoingHosts, new URL(circuitUrl).host]
  const outgoing = createOutgoing({ allowedHosts, maxBytes: PACK_BYTES, timeout: PACK_TIMEOUT, ...authority })
  onStop(() => outgoing.close())
  return { blueprints: { files: createGitFiles(outgoing.fetch), read: readWhole } }
}
