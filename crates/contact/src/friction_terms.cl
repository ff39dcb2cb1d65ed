// phi, phi' / |s| and phi''                                             Host: friction_terms
void coarsen_friction_terms(const REAL length, const REAL soft, REAL *terms) {
    const REAL y = length / soft;
    terms[0] = length >= soft ? length : soft * (y * y - y * y * y / 3 + (REAL)1 / 3);
    terms[1] = length >= soft ? 1 / length : (2 - y) / soft;
    terms[2] = length >= soft ? 0 : 2 * (1 - y) / soft;
}
