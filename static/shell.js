"use strict";

// What a page says and offers beyond its markup. Everything here is an extra: without it each
// page and each form works.
