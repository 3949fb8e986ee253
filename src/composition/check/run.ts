import type { Configuration } from '../../config.ts'
import { createLog } from '../../core/log.ts'
import { connect } from '../connection.ts'
import { formatFindings } from './finding.ts'
import { checkInstallation } from './index.ts'

/** Checks the installation, with the facade's rights and configuration. */
export async function runCheck(configuration: Configuration): Promise<{ text: string; isSound: boolean }> {
  const { kubeconfig, facadeContext: context } = configuration
  const log = createLog('silent', { part: 'check' })
  const { client } = connect({ kubeconfig, context, fieldManager: 'freehold-facade', log, timeout: 15_000 })
  try {
    const findings = await checkInstallation({ client, configuration })
    return { text: formatFindings(findings), isSound: findings.every(({ status: verdict }) => verdict !== 'fault') }
  } finally {
    await client.close()
  }
}
