import { readFile } from 'node:fs/promises'
import { gitFiles } from '../../adapters/gitfiles/client.ts'
import type { GitFiles } from '../../adapters/gitfiles/port.ts'
import { createAddressResolver } from '../../adapters/outgoing/addresses.ts'
import { giteaCircuit } from '../../adapters/sources/circuit.ts'
import { createSources } from '../../adapters/sources/client.ts'
import type { CircuitPort, SourcePort } from '../../adapters/sources/port.ts'
import { readCheckedTemplate } from '../../api/blueprints/catalogue.ts'
import type { Services } from '../../api/http/context.ts'
import { kubeSecrets, kubeSecretWriter } from '../../api/records/secrets.ts'
import { kubeJournal } from '../../api/sources/journal.ts'
import { kubePullSecrets } from '../../api/sources/pullSecrets.ts'
import type { ControllerPorts } from '../../controllers/index.ts'
import { systemClock } from '../../core/clock.ts'
import { openOutgoing } from '../outgoing.ts'
import type { AreaSetup, FacadeSetup } from './setup.ts'

/** A page of repositories can be long. */
const MAX_BYTES = 8 * 1024 * 1024

type Providers = { port: SourcePort; circuit: CircuitPort; gitFiles: GitFiles }

function providers({ configuration, onStop }: AreaSetup): Providers {
  const { outgoingHosts, circuitUrl, circuitTokenFile } = configuration
  const allowedHosts = circuitUrl === undefined ? outgoingHosts : [...outgoingHosts, new URL(circuitUrl).host]
  const outgoing = openOutgoing(configuration, { allowedHosts, maxBytes: MAX_BYTES })
  onStop(() => outgoing.close())
  const adminToken = async () => {
    if (circuitTokenFile === undefined) return undefined
    const text = await readFile(circuitTokenFile, 'utf8').catch(() => '')
    return text.trim() === '' ? undefined : text.trim()
  }
  const circuit = giteaCircuit(outgoing.fetch, circuitUrl, adminToken)
  const addressesOf = createAddressResolver(allowedHosts)
  return {
    port: createSources(outgoing.fetch, () => systemClock.now(), addressesOf, circuit.baseUrl),
    circuit,
    gitFiles: gitFiles(outgoing.fetch),
  }
}

export function sourceServices(setup: FacadeSetup): Pick<Services, 'sources'> {
  const { client, configuration, linkBase } = setup
  const { port, circuit } = providers(setup)
  return {
    sources: {
      ...{ port, circuit },
      secrets: { ...kubeSecrets(client), ...kubeSecretWriter(client) },
      pullSecrets: kubePullSecrets(client),
      journal: kubeJournal(client),
      allowedHosts: configuration.outgoingHosts,
      baseUrl: linkBase,
    },
  }
}

export function sourcePorts(setup: AreaSetup): Pick<ControllerPorts, 'sources' | 'gitFiles' | 'readTemplate'> {
  const { gitFiles, ...sources } = providers(setup)
  return { sources, gitFiles, readTemplate: readCheckedTemplate }
}
