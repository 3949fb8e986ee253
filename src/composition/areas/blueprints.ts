import type { Services } from '../../api/http/context.ts'
import { kubeSecrets, kubeSecretWriter } from '../../api/records/secrets.ts'
import type { FacadeSetup } from './setup.ts'

/** Where the values of secret parameters are kept. */
export function blueprintServices({ client }: FacadeSetup): Pick<Services, 'blueprints'> {
  return { blueprints: { secrets: { ...kubeSecrets(client), ...kubeSecretWriter(client) } } }
}
