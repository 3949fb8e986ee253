/** State of the certificates of custom domains; of several, the worst one. */
export const CERTIFICATE_STATES = ['NotRequested', 'Issuing', 'Valid', 'Expiring', 'Expired', 'Failed'] as const
export type CertificateState = (typeof CERTIFICATE_STATES)[number]
