import type { Services } from '../../api/http/context.ts'
import { kubeSecrets, kubeSecretWriter } from '../../api/records/secrets.ts'
import type { FacadeSetup } from './setup.ts'

/** Provides the store for values of secret parameters. */
export function blueprintServices({ client }: FacadeSetup): Pick<Services, 'blueprints'> {
  return { blueprints: { secrets: { ...kubeSecrets(client), ...kubeSecretWriter(client) } } }
}
