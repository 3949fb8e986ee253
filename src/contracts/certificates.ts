/** How far the certificate of a custom domain is; of several, the worst one. */
export const CERTIFICATE_STATES = ['NotRequested', 'Issuing', 'Valid', 'Expiring', 'Expired', 'Failed'] as const
export type CertificateState = (typeof CERTIFICATE_STATES)[number]
