import { SYSTEM_NAMESPACE } from './names.ts'

/** The configuration by which the API server asks about writes of access control; deploy/manifests/webhooks.yaml. */
export const WEBHOOK_CONFIGURATION = 'freehold-iam'
export const WEBHOOK_NAME = 'iam.freehold.dev'
/** How the API server calls the facade of a cluster. */
export const WEBHOOK_SERVICE = { name: 'freehold-webhook', namespace: SYSTEM_NAMESPACE } as const
export const WEBHOOK_SERVER_NAME = `${WEBHOOK_SERVICE.name}.${WEBHOOK_SERVICE.namespace}.svc`
