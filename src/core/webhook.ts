import { SYSTEM_NAMESPACE } from './names.ts'

/** The ValidatingWebhookConfiguration for writes of access control (deploy/manifests/webhooks.yaml). */
export const WEBHOOK_CONFIGURATION = 'freehold-iam'
export const WEBHOOK_NAME = 'iam.freehold.dev'
/** The Service through which the API server calls the facade. */
export const WEBHOOK_SERVICE = { name: 'freehold-webhook', namespace: SYSTEM_NAMESPACE } as const
export const WEBHOOK_SERVER_NAME = `${WEBHOOK_SERVICE.name}.${WEBHOOK_SERVICE.namespace}.svc`
